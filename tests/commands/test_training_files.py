"""``plant stats`` and ``plant embeddings``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from plant_plugin.cli import plant
from plant_plugin.config import registry


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(plant, list(arguments))


def test_embeddings_hands_everything_over(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    seen: list[Any] = []

    def train_embeddings(*arguments: Any, **keywords: Any) -> tuple[Path, Path]:
        seen.append((arguments, keywords))
        return tmp_path / "v.txt", tmp_path / "v.txt.vocab"

    monkeypatch.setattr("plant_plugin.prepare.embeddings.train_embeddings", train_embeddings)
    out = str(tmp_path / "v.txt")
    flags = ["--dim", "8", "--min_count", "2", "--epochs", "3", "--seed", "4", "--allow_bad_lines"]
    outcome = invoke("embeddings", "demo:train", "--out", out, *flags)
    options = {"dim": 8, "min_count": 2, "epochs": 3, "seed": 4, "allow_bad_lines": True}
    assert seen == [(("demo:train", Path(out)), options)]
    assert outcome.output == f"embed_file: {out}\nvocab_file: {out}.vocab\n"


def test_ctrl_c_is_quiet(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def train_embeddings(*arguments: Any, **keywords: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("plant_plugin.prepare.embeddings.train_embeddings", train_embeddings)
    outcome = invoke("embeddings", "demo:train", "--out", str(tmp_path / "v.txt"))
    assert (outcome.exit_code, outcome.output) == (130, "")


def test_what_is_listed_and_counted_in_json() -> None:
    listed = json.loads(invoke("list", "--json").output)
    assert listed["networks"].keys() == registry.entries("networks").keys()
    assert "plant.yml" in listed["configurations"]
    counted = json.loads(invoke("stats", "demo:valid", "--json").output)
    assert counted["files"][0]["file"] == "demo:valid"
    assert sum(one["labels"] for one in counted["labels by training documents"]) == counted["files"][0]["labels"]


def test_stats_counts_names_of_labels(tmp_path: Path) -> None:
    (train := tmp_path / "train.txt").write_text("L1 L2\ta text\nL1\tanother\n")
    (test := tmp_path / "test.txt").write_text("L3 L4 L1\ta third\n")
    names = tmp_path / "label_names.tsv"
    assert "with a name" not in invoke("stats", str(train), str(test)).output
    names.write_text("L1\tone\nL1\tuno\tes\nL3\tthree\nL9\tnine\n")
    for flags in ((), ("--names", str(names))):
        counted = json.loads(invoke("stats", str(train), str(test), *flags, "--json").output)
        assert [row["labels with a name"] for row in counted["files"]] == [1, 2]
        assert counted["files"][1]["labels unseen in training"] == 2
        assert counted["files"][1]["of them with a name"] == 1
        assert counted["names"] == [f"4 names of 3 labels in {names}"]
    lines = invoke("stats", str(train), str(test)).output.splitlines()
    assert lines[-1] == f"4 names of 3 labels in {names}"
    names.write_text("one\tL1\n")
    refused = invoke("stats", str(train), str(test))
    assert refused.exit_code == 2
    assert "the labels of the data stand in the second column" in refused.output
