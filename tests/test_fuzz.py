"""Damaged files and nonsense in configurations: a run ends well or with one of our errors, and leaves nothing half."""

from __future__ import annotations

import dataclasses
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from made_up_task import write_split

from plant_plugin.commands.train import libmultilabel
from plant_plugin.config.sections import BLOCKS, OPTIONS

OUTWARD = {"result_dir", "cache_dir", "embed_cache_dir", "predict_out_path", "linear", "cpu", "embed_file"}
FILES = ("train.txt", "valid.txt", "test.txt")
NETWORK = {"encoder": "cnn", "hidden_size": 4, "filter_sizes": [3], "embed_dim": 4, "num_heads": 2, "pool_size": 2}
SCRAPS = (b"\t", b"\n", b"\t\t", b"\n\n", b"\r", b"\r\n", b"\x00", b"\xff\xfe", b"\xc3", b" ", b'"', b"L1 ", b"L99",
          "\u2028\u00a0".encode(), b"\xef\xbb\xbf", b"\x1f\x8b\x08")  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, "", " ", "none", "nan", "inf", "-1", -1, 0, 1, 3, 7, 0.5, -0.5, 1e-9, True, False, [], [1], ["P@1"], ["P@99"],
    {}, {"a": 1}, "all", "positive", "cnn", "bilstm", "../nowhere", "P@1", "Loss", "adamw", "sgd", "epoch", "bf16",
    "16", "é\n",
)  # fmt: skip
KEYS = (
    *sorted(OPTIONS.keys() - OUTWARD),
    *(f"{block}.{field.name}" for block in BLOCKS for field in dataclasses.fields(BLOCKS[block])),
    *(f"network_config.{name}" for name in (*NETWORK, "planted_prior", "embed_dropout", "nonsense")),
    *BLOCKS, "network_config", "scheduler_config", "nonsense",
)  # fmt: skip

changes = st.lists(st.tuples(st.sampled_from(KEYS), st.sampled_from(VALUES)), max_size=3)
place = st.floats(0, 1)
wounds = st.lists(
    st.tuples(st.sampled_from(FILES), st.sampled_from(["cut", "insert", "repeat", "end"]), place, place,
              st.sampled_from(SCRAPS)),
    max_size=3,
)  # fmt: skip


def wound(content: bytes, kind: str, one: float, other: float, scrap: bytes) -> bytes:
    start, stop = sorted((int(one * len(content)), int(other * len(content))))
    if kind == "cut":
        return content[:start] + content[stop:]
    if kind == "insert":
        return content[:start] + scrap + content[start:]
    return content[:stop] + content[start:] if kind == "repeat" else content[:start]


def put(configuration: dict[str, Any], key: str, value: Any) -> None:
    block, dot, name = key.partition(".")
    if not dot:
        configuration[key] = value
    elif isinstance(configuration.setdefault(block, {}), dict):
        configuration[block][name] = value


def check(changed: list[tuple[str, Any]], wounded: list[tuple[str, str, float, float, bytes]]) -> None:
    folder = Path(tempfile.mkdtemp())
    try:
        for seed, (name, documents) in enumerate(zip(FILES, (20, 6, 6), strict=True)):
            write_split(folder / name, documents, seed)
        for name, *how in wounded:
            (folder / name).write_bytes(wound((folder / name).read_bytes(), *how))
        configuration: dict[str, Any] = {
            "training_file": str(folder / "train.txt"), "val_file": str(folder / "valid.txt"),
            "test_file": str(folder / "test.txt"), "model_name": "PLANT", "network_config": dict(NETWORK),
            "stage1": {"epochs": 1, "k": 5, "labels": 4}, "stage2": {"epochs": 1, "hard_negatives": 3}, "seed": 1,
            "epochs": 2, "silent": True, "cpu": True, "batch_size": 8, "cache_dir": str(folder / "cache"),
            "result_dir": str(folder / "runs"), "predict_out_path": None,
        }  # fmt: skip
        for key, value in changed:
            put(configuration, key, value)
        (folder / "config.yml").write_text(json.dumps(configuration))  # JSON is YAML
        outcome = CliRunner().invoke(libmultilabel, ["--config", str(folder / "config.yml")])
        if outcome.exception is not None and not isinstance(outcome.exception, SystemExit):
            raise outcome.exception
        assert outcome.exit_code in (0, 2), outcome.output
        assert "Traceback" not in outcome.output
        if outcome.exit_code == 2:
            assert "Error: " in outcome.output
        files = [path for path in folder.rglob("*") if path.is_file()]
        assert [path for path in files if ".part" in path.name] == []
        for path in files:
            if path.suffix == ".json":
                json.loads(path.read_text())
    finally:
        shutil.rmtree(folder)


def limits(examples: int) -> settings:
    return settings(max_examples=examples, deadline=None, derandomize=True, database=None,
                    suppress_health_check=list(HealthCheck))  # fmt: skip


@limits(12)
@given(changes, wounds)
def test_what_is_wrong_is_said(changed: list[Any], wounded: list[Any]) -> None:
    check(changed, wounded)


@pytest.mark.integration
@limits(1000)
@given(changes, wounds)
def test_what_is_wrong_is_said_a_thousand_times(changed: list[Any], wounded: list[Any]) -> None:
    check(changed, wounded)
