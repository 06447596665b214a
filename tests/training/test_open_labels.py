"""Whole runs whose label set is every label that has a name."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import named_notes
import pytest
from made_up_task import made_config

from plant_plugin.config import Config
from plant_plugin.errors import ConfigError, DataError
from plant_plugin.model.predictor import Predictor
from plant_plugin.relevance.names.open_labels import OPEN_LABELS, read_weights
from plant_plugin.report.record import FIRST_PASS
from plant_plugin.training.run import run

Made = Callable[..., Config]


@pytest.fixture
def made_named(tmp_path: Path) -> Made:
    """Builds a configuration of planted scores on made-up notes with names; keyword arguments override keys."""
    files = named_notes.write(tmp_path)

    def made(**changes: Any) -> Config:
        given: dict[str, Any] = {
            "strategy": "planted_scores", "planted_scores__model": "ridge", "label_set": "named",
            "evidence__training_file": str(files["evidence"]), "monitor_metrics": ["P@1", "MAP-gold"],
        }  # fmt: skip
        return made_config(tmp_path, **{**given, **changes})

    return made


def unseen_recall(predictor: Predictor, tmp_path: Path) -> float:
    """Of true labels of test notes that training never showed, how many are among the five best."""
    lines = [line.split("\t") for line in (tmp_path / "test.txt").read_text().splitlines()]
    predictions = predictor.predict([text for _, text in lines], top=5)
    wanted = [(row, label) for row, (labels, _) in enumerate(lines) for label in labels.split()]
    unseen = [(row, label) for row, label in wanted if not predictor.scored_label(predictor.column_of[label], 0).seen]
    assert len(unseen) > 20
    return sum(label in {each.label for each in predictions[row].labels} for row, label in unseen) / len(unseen)


def test_labels_without_a_training_document_are_predicted_and_measured(made_named: Made, tmp_path: Path) -> None:
    closed = run(made_named(label_set="trained", result_dir=str(tmp_path / "closed")))
    config = made_named()
    result, folder = run(config), Path(config.checkpoint_dir)
    content = json.loads((folder / "config.json").read_text())
    assert result["metrics"]["MAP-gold"] > closed["metrics"]["MAP-gold"] + 0.2
    assert result["metrics"]["Macro-F1@micro"] >= closed["metrics"]["Macro-F1@micro"] - 0.05  # of labels of training
    assert result["counts"]["labels"] == 96 > closed["counts"]["labels"]
    assert result["thresholds"]["micro"] == pytest.approx(content["log_odds"]["at_offset"])
    assert result["time_s"]["names"] > 0
    predictor = Predictor.load(folder, device="cpu")
    assert unseen_recall(predictor, tmp_path) > 0.7
    again = run(made_named(eval=True, checkpoint_path=str(folder), result_dir=str(tmp_path / "again")))
    assert again["metrics"]["MAP-gold"] == pytest.approx(result["metrics"]["MAP-gold"], abs=0.02)  # half precision


@pytest.mark.integration
def test_the_second_training_of_refit_takes_over_the_weights(made_named: Made, tmp_path: Path) -> None:
    config = made_named(refit="train+val")
    run(config)
    folder = Path(config.checkpoint_dir)
    assert read_weights(folder) == read_weights(folder / FIRST_PASS)
    manifest = json.loads((folder / "manifest.json").read_text())["files"]
    assert set(OPEN_LABELS) <= manifest.keys()
    # labels of validation documents are labels of training now
    before, after = (Predictor.load(each, device="cpu") for each in (folder / FIRST_PASS, folder))
    unseen = [int(each.open_labels.by_name.sum()) for each in (before, after) if each.open_labels]
    assert unseen[0] > unseen[1] > 0


@pytest.mark.integration
@pytest.mark.parametrize("size", [None, 8])
def test_with_a_network_and_a_shortlist(made_named: Made, tmp_path: Path, size: int | None) -> None:
    config = made_named(strategy="end_to_end", stage2__epochs=1, shortlist__size=size)
    result = run(config)
    assert result["metrics"]["MAP-gold"] > 0.3
    assert unseen_recall(Predictor.load(config.checkpoint_dir, device="cpu"), tmp_path) > 0.7


def test_without_names_there_is_nothing_to_know_labels_by(
    made_named: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "label_names.tsv").unlink()

    def trained(*_: object) -> None:
        raise AssertionError("trained before it was told")

    monkeypatch.setattr("plant_plugin.training.run.fit_scores", trained)
    with pytest.raises(ConfigError, match="no names to know labels by"):
        run(made_named())
    (tmp_path / "names.tsv").write_text("no tab here\n")
    with pytest.raises(DataError, match=r"names\.tsv, line 1"):
        run(made_named(planted_scores__names=str(tmp_path / "names.tsv")))
    assert not list((tmp_path / "runs").glob("*"))
    assert "the lock was lost" not in caplog.text
