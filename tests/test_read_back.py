"""What is read back from a folder: a wrong type or a missing key is named with its file, unknown keys may stay."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from plant_plugin.data.tokens import load_tokens
from plant_plugin.errors import PlantError
from plant_plugin.files import read_json
from plant_plugin.model.folder import read_content, read_labels
from plant_plugin.model.passages import EvidenceRule, read_rule
from plant_plugin.report.logs import append_log, evaluations, logged_config, read_logs
from plant_plugin.report.record import read_run_record
from plant_plugin.report.result import read_result

HASH = "0" * 64
MODEL = {
    "model_name": "PLANT", "network_config": {"encoder": "cnn"}, "max_seq_length": None,
    "word_vectors": [7, 4], "planted_scores": False, "phrase_prior": 0, "shortlist": None, "base": None,
    "hashes": {"labels": HASH, "vocabulary": HASH, "train": HASH},
}  # fmt: skip
RECORD = {"config_hash": HASH, "finished": False, "cost": {"time_s": {"total": 1}}, "best_epochs": {"stage1": 2}}
RESULT = {"metrics": {"P@1": 0.5, "AUC-macro": None}, "peak_memory_mb": {"total": 1.5}, "seed": 1}
LOGS = {"val": [{"P@1": 0.5}], "config": {"test_file": None, "evidence": {"test_file": "e.jsonl", "k": 5}}}


def read_thresholds(folder: Path) -> object:
    (folder / "labels.txt").write_text("a\n")
    return read_labels(folder)


Read = Callable[[Path], object]
FILES: dict[str, tuple[Read, Any]] = {
    "config.json": (read_content, MODEL),
    "thresholds.json": (read_thresholds, {"0.5": 0, "micro": 0.25}),
    "evidence_threshold.json": (read_rule, {"order": None, "share": 0.5, "gap": 2, "words": 3}),
    "run.json": (read_run_record, RECORD),
    "result.json": (lambda folder: read_result(folder / "result.json"), RESULT),
    "logs.json": (lambda folder: read_logs(folder / "logs.json"), LOGS),
}
SET_ASIDE = ("run.json",)  # as if it was not there, so that a run starts anew


def changed(content: dict[str, Any], key: str, value: object) -> dict[str, Any]:
    """With another value in the place of a key; None: without the key."""
    first, _, rest = key.partition(".")
    if rest:
        return {**content, first: changed(content[first], rest, value)}
    return {
        **{name: kept for name, kept in content.items() if name != first},
        **({} if value is None else {key: value}),
    }


@pytest.mark.parametrize("name", FILES)
def test_a_whole_file_with_a_key_of_another_version(tmp_path: Path, name: str) -> None:
    read, content = FILES[name]
    extra = {} if name in ("thresholds.json", "logs.json") else {"of_tomorrow": [1, {"a": None}]}
    (tmp_path / name).write_text(json.dumps({**content, **extra}))
    assert read(tmp_path)


@pytest.mark.parametrize(
    ("name", "key", "value"),
    [
        ("config.json", "model_name", None),
        ("config.json", "network_config", ["cnn"]),
        ("config.json", "word_vectors", "7x4"),
        ("config.json", "hashes.vocabulary", None),
        ("config.json", "planted_scores", 1),
        ("thresholds.json", "micro", "0.25"),
        ("evidence_threshold.json", "gap", 1.5),
        ("run.json", "config_hash", None),
        ("run.json", "finished", "no"),
        ("run.json", "cost.time_s.total", "1 s"),
        ("run.json", "best_epochs.stage1", 1.5),
        ("result.json", "metrics", None),
        ("result.json", "metrics.P@1", "0.5"),
        ("result.json", "peak_memory_mb.total", []),
        ("result.json", "seed", "one"),
        ("logs.json", "val", "0.5"),
        ("logs.json", "config.evidence.test_file", 5),
    ],
)
def test_a_wrong_or_missing_key_is_named_with_its_file(tmp_path: Path, name: str, key: str, value: object) -> None:
    read, content = FILES[name]
    (tmp_path / name).write_text(json.dumps(changed(content, key, value)))
    if name in SET_ASIDE:
        assert not read(tmp_path)
        return
    with pytest.raises(PlantError) as raised:
        read(tmp_path)
    assert str(tmp_path / name) in raised.value.message
    assert all(part in raised.value.message for part in key.split("."))
    assert "How to fix it" in raised.value.message


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize(
    "content",
    ['{"secret', "[]", '"secret"', "\xff", '{"secret":' * 100_000, '{"val": ' + "[" * 5000 + "]" * 5000 + "}"],
    ids=["torn", "list", "text", "no UTF-8", "deep", "deep and whole"],
)
def test_what_is_no_such_file_is_named_and_never_shown(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content, encoding="latin-1")
    if name in SET_ASIDE:
        assert not FILES[name][0](tmp_path)
        return
    with pytest.raises(PlantError) as raised:
        FILES[name][0](tmp_path)
    assert name in raised.value.message
    assert "secret" not in raised.value.message


@pytest.mark.parametrize(
    ("content", "key"),
    [({"kind": "word", "hash": HASH}, "words"), ({"kind": "subword", "hash": HASH}, "add_special_tokens"),
     ({"kind": "word", "words": ["a"]}, "hash"), ({"kind": "word", "hash": HASH, "words": ["a", 1]}, "words.1")],
)  # fmt: skip
def test_a_torn_vocabulary(tmp_path: Path, content: dict[str, Any], key: str) -> None:
    (tmp_path / "vocabulary.json").write_text(json.dumps(content))
    with pytest.raises(PlantError, match=rf"vocabulary\.json: not a vocabulary: (it holds no )?{key}"):
        load_tokens(tmp_path)


def test_a_rule_of_an_older_version_keeps_todays_defaults(tmp_path: Path) -> None:
    (tmp_path / "evidence_threshold.json").write_text('{"share": 0.5}')
    assert read_rule(tmp_path) == EvidenceRule(share=0.5)


def test_of_a_union_the_kind_that_fits_longest_is_believed(tmp_path: Path) -> None:
    (tmp_path / "logs.json").write_text('{"val": [{"P@1": 0.5}, {"P@1": "high"}]}')
    with pytest.raises(PlantError, match=r"val\.1\.P@1 should be a valid number"):
        read_logs(tmp_path / "logs.json")


def test_numbers_that_are_none_stay_in_the_log(tmp_path: Path) -> None:
    path = tmp_path / "logs.json"
    append_log(path, "val", {"Loss": float("nan")})
    append_log(path, "val", {"Loss": 0.5})
    assert [len(evaluations(read_logs(path), split)) for split in ("val", "test")] == [2, 0]
    assert logged_config(tmp_path) == {}


def test_a_file_that_is_not_there_is_the_callers_business(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_json(tmp_path / "nothing.json", dict[str, float], what="thresholds", fix="")
    assert read_run_record(tmp_path) is None
