"""Each script of ``examples`` does on small data what it does on large ones."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from made_up_task import write_splits

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
pytestmark = pytest.mark.skipif(not EXAMPLES.is_dir(), reason="the examples lie in a checkout only")
LONGEST = 50  # lines


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """What makes a script of minutes one of a second: made-up files, an epoch of each stage."""
    write_splits(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(EXAMPLES))
    scripts = [path.stem for path in EXAMPLES.glob("*.py")]
    for name in scripts:  # other tests have an own_network of their own, which comes back afterwards
        monkeypatch.delitem(sys.modules, name, raising=False)
    yield {
        "training_file": "train.txt", "val_file": "valid.txt", "test_file": "test.txt", "cache_dir": "cache",
        "max_seq_length": 40,
    }  # fmt: skip
    for name in scripts:
        sys.modules.pop(name, None)


PLANTED = {"cpu": True, "stage1.epochs": 1, "stage1.labels": 6, "stage2.epochs": 1, "stage2.hard_negatives": 5}


def lines_of(name: str, capsys: pytest.CaptureFixture[str], **changes: Any) -> list[str]:
    importlib.import_module(name).main(**changes)
    return capsys.readouterr().out.splitlines()


def test_every_example_is_tried_and_short() -> None:
    scripts = {path.stem: len(path.read_text(encoding="utf-8").splitlines()) for path in EXAMPLES.glob("*.py")}
    del scripts["made_up_notes"]  # a program: tests/test_made_up_notes.py
    assert scripts.keys() == {"icd_demo", "eurovoc", "own_network"}
    assert max(scripts.values()) <= LONGEST


def test_icd_demo(small: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    head, *codes = lines_of("icd_demo", capsys, **small, **PLANTED)
    assert re.fullmatch(r"P@5 on 40 test notes: 0\.\d{3}", head)
    assert len(codes) == 5
    assert [line for line in codes if not re.fullmatch(r"L\d+ +[01]\.\d\d  .+", line)] == []


def test_own_network(small: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    found = lines_of("own_network", capsys, **small, **PLANTED)
    assert [line.split()[:2] for line in found] == [["plant", "P@5"], ["end_to_end", "P@5"]]


def test_eurovoc(small: dict[str, Any], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    example = importlib.import_module("eurovoc")
    whole = example.load_config

    def shrunk(file: str, changes: dict[str, Any]) -> Any:
        return whole(file, {**changes, **small, **({} if "linear" in file else PLANTED)})

    monkeypatch.setattr(example, "load_config", shrunk)
    table = "\n".join(lines_of("eurovoc", capsys))
    assert re.search(r"^\| linear \| 1 \| [*\d]", table, re.MULTILINE)  # bold where it is the best
    assert re.search(r"^\| plant \| 1 \| ", table, re.MULTILINE)
    assert "p, randomisation" in table
