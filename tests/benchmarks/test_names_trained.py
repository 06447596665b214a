"""What the product learns of names, measured on labels that training never shows."""

from __future__ import annotations

from pathlib import Path

import named_notes
import names_trained
import numpy as np
import pytest
from names_trained import measured
from unseen import ALONE, scores_of
from zero_shot import read_task

from plant_plugin.data.label_names import LabelName
from plant_plugin.data.name_rows import table_text
from plant_plugin.relevance.names.open_labels import OpenLabels

OTHERS = [LabelName(f"X{number}", f"unused{number} thing", "en") for number in range(5)]


@pytest.mark.integration
def test_unseen_labels_are_measured_among_all_and_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "yso").mkdir()
    named_notes.write(tmp_path / "yso")
    (tmp_path / "yso" / "label_names.tsv").write_text(table_text([*named_notes.names(), *OTHERS]))
    rows = measured(tmp_path, tmp_path / "models", "yso", "test", 1)
    method = "names, trained"
    assert [(row["among"], row["method"]) for row in rows] == [
        ("used", method), ("named", method), ("used", method + ALONE)
    ]  # fmt: skip
    assert all(row["seeds"] == [1] for row in rows)
    counts = [row["labels"] for row in rows]
    assert counts[0] == counts[2] < counts[1]
    assert all(row["metrics"]["recall@10"] > 80 for row in rows)
    before = {path: path.read_bytes() for path in (tmp_path / "models" / "yso-1").iterdir()}
    monkeypatch.setattr(names_trained, "MOST_NAMES", 10)
    [alone] = measured(tmp_path, tmp_path / "models", "yso", "test", 1)  # too many names: used labels alone
    assert (alone["among"], alone["labels"], alone["method"]) == ("used", counts[0], method + ALONE)
    assert before == {path: path.read_bytes() for path in (tmp_path / "models" / "yso-1").iterdir()}


@pytest.mark.integration
def test_asked_for_all_it_says_what_the_product_says(tmp_path: Path) -> None:
    (tmp_path / "yso").mkdir()
    named_notes.write(tmp_path / "yso")
    measured(tmp_path, tmp_path / "models", "yso", "test", 1)
    names = OpenLabels.load(tmp_path / "models" / "yso-1", named_notes.seen_labels(), None)
    task = read_task(tmp_path, "yso", "test", ("train",))
    scores = scores_of(names, task, len(task.labels))
    for row, text in enumerate(task.texts[:5]):
        proposed = names.propose(text)
        unseen = names.by_name[proposed.columns]
        there = np.isfinite(scores[row])
        assert {names.widened[column] for column in proposed.columns[unseen]} == set(np.array(task.labels)[there])
        assert sorted(proposed.log_odds[unseen]) == pytest.approx(sorted(scores[row][there]))
