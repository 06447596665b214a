"""MIMIC on a GPU: the texts that are made up, and the page of the records."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks" / "rehearsal"))

import on_a_gpu


def test_the_page_is_that_of_the_records() -> None:
    records = json.loads(on_a_gpu.KEPT.read_text(encoding="utf-8"))
    assert on_a_gpu.page(records) == on_a_gpu.PAGE.read_text(encoding="utf-8")


def test_an_epoch_is_worked_out_but_not_where_others_used_the_gpu() -> None:
    record = {
        "batch_size": 8, "seconds": {"stage1": 0.4, "stage2": 2.0}, "gpu_memory_mb": {"stage1": 1024, "stage2": 2048},
        "device": "Maker's GPU", "versions": {"torch": "2.11.0"},
    }  # fmt: skip
    shared = {**record, "shared": True}
    *_, one, two, three, four = on_a_gpu.page({"plant_mimic3": record, "laat_mimic3": shared}).splitlines()
    assert one == "| `plant_mimic3.yml` | 8 | 1 | 0.400 | 39.8 min | 1.0 |"
    assert two == "| `plant_mimic3.yml` | 8 | 2 | 2.000 | 3.3 h | 2.0 |"
    assert (three, four) == (
        "| `laat_mimic3.yml` | 8 | 1 | – | – | 1.0 |", "| `laat_mimic3.yml` | 8 | 2 | – | – | 2.0 |"
    )  # fmt: skip


def test_texts_have_every_code_and_word_vectors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"CODES": 60, "WORDS": 90, "MADE_UP": {"train": 7, "valid": 2}, "DIMENSIONS": 3}.items():
        monkeypatch.setattr(on_a_gpu, name, value)
    on_a_gpu.texts(tmp_path / "MIMIC")
    lines = [line.partition("\t") for line in (tmp_path / "MIMIC" / "train.txt").read_text().splitlines()]
    assert {code for codes, _, _ in lines for code in codes.split()} == {f"c{number}" for number in range(60)}
    assert all(100 <= len(text.split()) <= 10_000 for _, _, text in lines)
    assert len((tmp_path / "MIMIC" / "embeddings.txt").read_text().splitlines()) == 90
