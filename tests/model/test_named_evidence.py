"""Explanations of labels that only their names make known."""

from __future__ import annotations

import json
from pathlib import Path

import named_notes
import numpy as np
import pytest
from click.testing import CliRunner
from made_up_task import made_config

from plant_plugin import Predictor
from plant_plugin.cli import plant
from plant_plugin.training.run import run


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Planted scores and names, trained on made-up notes."""
    made = tmp_path_factory.mktemp("named")
    files = named_notes.write(made)
    config = made_config(
        made, strategy="planted_scores", planted_scores__model="ridge", label_set="named",
        evidence__training_file=str(files["evidence"]),
    )  # fmt: skip
    run(config)
    return Path(config.checkpoint_dir)


@pytest.fixture(scope="module")
def predictor(folder: Path) -> Predictor:
    return Predictor.load(folder, device="cpu")


@pytest.fixture(scope="module")
def unseen(predictor: Predictor) -> tuple[str, str, tuple[int, int]]:
    """A label that no training note has, a note that has it, and the words that say so."""
    label = predictor.open_labels.added[0]  # type: ignore[union-attr]
    notes = named_notes.notes([label, predictor.labels[0]], 1, 7)
    return label, notes.texts[0], notes.evidence[0][label][0]


def test_the_words_that_answer_to_the_name_add_up_to_the_logit(
    predictor: Predictor, unseen: tuple[str, str, tuple[int, int]]
) -> None:
    label, text, (start, end) = unseen
    [evidence] = predictor.explain(text, [label]).labels
    assert evidence.contribution is not None
    total = evidence.contribution.sum() + evidence.bias + evidence.elsewhere + evidence.planted
    assert total == pytest.approx(evidence.scored.logit, abs=1e-3)
    first = evidence.passages[0]
    assert (first.start, first.end) == (start, end)
    assert evidence.terms[0][0] in {row.name for row in named_notes.names() if row.label == label}
    assert evidence.scored.seen is False
    assert evidence.scored.shown.endswith("(never seen in training)")


def test_known_labels_add_up_too(predictor: Predictor, unseen: tuple[str, str, tuple[int, int]]) -> None:
    assert 1 not in (predictor.log_odds.slope_below, predictor.log_odds.slope_above)
    explanation = predictor.explain(unseen[1], top=10)
    assert {each.scored.seen for each in explanation.labels} == {True, False}
    for each in explanation.labels:
        parts = 0.0 if each.contribution is None else float(each.contribution.sum())
        assert parts + each.bias + each.elsewhere + each.planted == pytest.approx(each.scored.logit, abs=1e-3)


def test_words_that_are_not_there_any_more_lower_the_probability(
    predictor: Predictor, unseen: tuple[str, str, tuple[int, int]]
) -> None:
    label, text, (start, end) = unseen
    column = predictor.column_of[label]
    whole, without = predictor.logits([text, text[:start] + text[end:]])[:, column]
    assert whole > without + 1
    assert np.isfinite(predictor.logits([""])).all()


def test_commands_say_that_training_never_showed_a_label(
    folder: Path, unseen: tuple[str, str, tuple[int, int]], tmp_path: Path
) -> None:
    label, text, _ = unseen
    note = tmp_path / "note.txt"
    note.write_text(text)
    runner = CliRunner()
    done = runner.invoke(plant, ["predict", str(folder), str(note), "--top", "3"])
    assert done.exit_code == 0, done.output
    labels = {each["label"]: each for each in json.loads(done.stdout)["labels"]}
    assert labels[label]["seen_in_training"] is False
    assert "name" in labels[label]
    done = runner.invoke(plant, ["predict", str(folder), str(note), "--top", "3", "--output", "csv"])
    assert "(never seen in training)" in done.stdout
    done = runner.invoke(plant, ["explain", str(folder), str(note), "--label", label])
    assert done.exit_code == 0, done.output
    assert "(never seen in training)" in done.output
    done = runner.invoke(plant, ["label", str(folder), label])
    assert done.exit_code == 0, done.output
    assert "never seen in training" in done.output


def test_an_export_says_the_same(folder: Path, unseen: tuple[str, str, tuple[int, int]], tmp_path: Path) -> None:
    done = CliRunner().invoke(plant, ["export", str(folder), "--out", str(tmp_path / "model")])
    assert done.exit_code == 0, done.output
    ours, theirs = (Predictor.load(each, device="cpu").logits([unseen[1]]) for each in (folder, tmp_path / "model"))
    np.testing.assert_array_equal(ours, theirs)


def test_a_stripped_model_finds_them_still(
    folder: Path, unseen: tuple[str, str, tuple[int, int]], tmp_path: Path
) -> None:
    out = tmp_path / "stripped"
    done = CliRunner().invoke(plant, ["strip", str(folder), "--training-file", str(folder.parents[1] / "train.txt"),
                                      "--min-documents", "3", "--out", str(out)])  # fmt: skip
    assert done.exit_code == 0, done.output
    best = Predictor.load(out, device="cpu").predict([unseen[1]], top=5)[0].labels
    assert unseen[0] in {each.label for each in best}
