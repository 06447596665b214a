"""Promises count every label that training or a name makes known, on validation documents as on those of the test."""

from __future__ import annotations

from pathlib import Path

import named_notes
import numpy as np
import pytest
from made_up_task import made_config

from plant_plugin.report.promises import read_promises
from plant_plugin.training import promises
from plant_plugin.training.known_labels import known_labels
from plant_plugin.training.run import run
from plant_plugin.training.scoring import Scoring


@pytest.mark.integration
# `train+val` trains as `none` does first.
@pytest.mark.parametrize("refit", ["none", "train+val"])
def test_true_labels_that_only_a_name_makes_known_count_on_both_splits(
    refit: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files, seen = named_notes.write(tmp_path), []

    def noted(scoring: Scoring) -> np.ndarray | None:
        known = known_labels(scoring)
        labels = {
            split: scoring.documents.labels[split] for split in ("val", "test") if split in scoring.documents.labels
        }
        assert known is not None
        seen.append({split: (known.all(), matrix.multiply(~known).sum()) for split, matrix in labels.items()})
        return known

    monkeypatch.setattr(promises, "known_labels", noted)
    config = made_config(
        tmp_path, strategy="planted_scores", planted_scores__model="ridge", label_set="named", refit=refit,
        evidence__training_file=str(files["evidence"]), monitor_metrics=["P@1", "MAP-gold"],
    )  # fmt: skip
    run(config)
    assert seen
    assert all(found == (True, 0) for splits in seen for found in splits.values())
    reached = read_promises(Path(config.checkpoint_dir))
    assert reached["val"]["promise 0.5"]["listed"] >= 0.5


def test_without_names_a_label_that_no_training_document_has_is_not_promised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named_notes.write(tmp_path)
    known = []
    monkeypatch.setattr(promises, "known_labels", lambda scoring: known.append(known_labels(scoring)) or known[-1])
    run(made_config(tmp_path, strategy="planted_scores", planted_scores__model="ridge", monitor_metrics=["P@1"]))
    assert known
    assert not all(mask.all() for mask in known)
