from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import named_notes
import numpy as np
import pytest
from scipy import sparse

from plant_plugin.data.label_names import LabelName
from plant_plugin.errors import CheckpointError
from plant_plugin.relevance.names.open_labels import NAMES_FILE, OpenLabels, all_scored, read_weights


def recall(open_labels: OpenLabels, top: int = 5) -> float:
    """Of labels that training never showed, in texts that it never showed."""
    unseen = [label for label in open_labels.widened if label not in open_labels.labels]
    notes, found = named_notes.notes(unseen, 30, 5), 0
    for text, labels in zip(notes.texts, notes.labels, strict=True):
        proposed = open_labels.propose(text)
        odds = np.where(open_labels.by_name[proposed.columns], proposed.log_odds, -np.inf)
        best = {open_labels.widened[column] for column in proposed.columns[np.argsort(-odds)[:top]]}
        found += len(best.intersection(labels))
    return found / 60


def test_labels_that_training_never_showed_are_found_by_their_names(fitted: OpenLabels) -> None:
    assert len(fitted.added) == 96 - len(fitted.labels) > 30
    assert recall(fitted) > 0.8


def test_without_evidence_names_in_a_document_of_their_label_take_its_place() -> None:
    labels = named_notes.seen_labels()
    train = named_notes.notes(labels, 120, 1)
    fitted = OpenLabels.fit(named_notes.names(), labels, train.texts, train.labels, None, None)
    assert recall(fitted) > 0.8


def test_what_was_saved_says_the_same(fitted: OpenLabels, tmp_path: Path) -> None:
    weighed = replace(fitted, known=0.25, slope=0.5, shift=-1.0)
    weighed.save(tmp_path)
    again = OpenLabels.load(tmp_path, fitted.labels, None)
    assert read_weights(tmp_path) == {"known": 0.25, "slope": 0.5, "shift": -1.0}
    assert (again.known, again.slope, again.shift) == (0.25, 0.5, -1.0)
    assert (again.widened, again.by_name.tolist()) == (fitted.widened, fitted.by_name.tolist())
    text = named_notes.notes(fitted.widened, 1, 8).texts[0]
    ours, theirs = weighed.propose(text), again.propose(text)
    shared = np.intersect1d(ours.columns, theirs.columns)
    assert len(shared) > 0.9 * len(ours.columns)  # tables are kept in half precision
    best = ours.columns[ours.log_odds.argmax()]
    assert theirs.log_odds[theirs.columns == best][0] == pytest.approx(ours.log_odds.max(), abs=0.5)


def test_known_labels_gain_and_unseen_ones_have_their_own_score(fitted: OpenLabels) -> None:
    weighed = replace(fitted, known=0.5, slope=2.0, shift=1.0)
    proposed = weighed.propose(named_notes.notes(fitted.widened, 1, 8).texts[0])
    logits = np.zeros((1, len(fitted.labels)), np.float32)
    [wide] = weighed.wide(logits, [proposed])
    for column, odds in zip(proposed.columns.tolist(), proposed.log_odds.tolist(), strict=True):
        expected = 2 * odds + 1 if fitted.by_name[column] else 0.5 * max(0, odds + 5)
        assert wide[column] == pytest.approx(expected, rel=1e-5)
    others = np.setdiff1d(np.arange(len(wide)), proposed.columns)
    assert np.isneginf(wide[others][fitted.by_name[others]]).all()
    assert (wide[others][~fitted.by_name[others]] == 0).all()
    listed = sparse.csr_array(np.eye(1, len(fitted.labels), 3, dtype=np.float32))
    trained = weighed.wide(listed, [proposed])[0, : len(fitted.labels)][fitted.seen]
    assert np.isneginf(trained).sum() == fitted.seen.sum() - 1
    shown = all_scored(wide[None])[0]
    assert np.isfinite(shown).all()
    assert shown[np.isneginf(wide)].max() < min(-30, wide[~np.isneginf(wide)].min())


def test_a_label_of_validation_only_is_known_by_its_name(fitted: OpenLabels) -> None:
    extra = [*fitted.labels, fitted.added[0], "NO_NAME"]
    wider = replace(fitted, labels=extra, seen=np.append(fitted.seen, [False, False]))
    assert wider.by_name[len(fitted.labels)]
    assert not wider.by_name[len(fitted.labels) + 1]  # nothing else is known of it: what the model says stays


def test_new_names_need_no_training(fitted: OpenLabels) -> None:
    rows = [row for row in named_notes.names() if row.label != "KI0"] + [LabelName("NEW1", "torsion of testis", "en")]
    renewed = fitted.with_names(rows)
    assert "NEW1" in renewed.added
    proposed = renewed.propose("filler1 filler2 torsion of the testis filler3")
    best = proposed.columns[np.where(renewed.by_name[proposed.columns], proposed.log_odds, -np.inf).argmax()]
    assert renewed.widened[best] == "NEW1"


def test_files_of_other_labels_are_refused(fitted: OpenLabels, tmp_path: Path) -> None:
    fitted.save(tmp_path)
    with pytest.raises(CheckpointError, match="none of the model's"):
        OpenLabels.load(tmp_path, fitted.labels[1:], None)
    content = json.loads((tmp_path / NAMES_FILE).read_text())
    (tmp_path / NAMES_FILE).write_text(json.dumps({**content, "names": [["only one"]]}))
    with pytest.raises(CheckpointError):
        OpenLabels.load(tmp_path, fitted.labels, None)
