"""EURLEX-6K through shapes of the extreme classification repository and back."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from plant_plugin.data.libmultilabel_txt import read_libmultilabel_text
from plant_plugin.prepare.xmc import prepare_xmc

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "prepare"))
from made_up_xmc import WRITERS, Documents, read_back

pytestmark = pytest.mark.integration


@pytest.mark.parametrize("shape", WRITERS)
def test_eurlex6k_there_and_back(shape: str, shared: Path, tmp_path: Path) -> None:
    splits: list[Documents] = []
    for name in ("train", "test"):
        documents = read_libmultilabel_text(shared / "data" / "eurlex6k" / f"{name}.txt.xz")
        splits.append([(sorted(labels), text) for labels, text in zip(documents.labels, documents.texts, strict=True)])
    source = tmp_path / "eurlex"
    source.mkdir()
    WRITERS[shape](source, *splits)
    made = prepare_xmc(source, tmp_path / "out")
    assert (made["counts"]["train"], made["counts"]["test"]) == (6000, 1500)
    assert [read_back(tmp_path / "out", name) for name in ("train", "test")] == splits
