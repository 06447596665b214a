"""Scores of whole splits: validation is computed once and kept, planted scores are added, thresholds move with them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from plant_plugin.config import Config
from plant_plugin.relevance.log_odds import NOT_FITTED
from plant_plugin.relevance.planted_scores import PlantedScores
from plant_plugin.relevance.ridge import RidgeOptions
from plant_plugin.report.result import tune_on_validation
from plant_plugin.report.run import Run
from plant_plugin.training.build import build_network
from plant_plugin.training.inputs import Inputs, Shortlists, prepare
from plant_plugin.training.scoring import Scoring, network_logits, validation_logits
from plant_plugin.training.thresholds import tune_thresholds


@pytest.fixture
def parts(made: Callable[..., Config]) -> tuple[Any, Inputs, Config, Run]:
    config = made(eval_batch_size=7, planted_scores__model="ridge")
    run = Run(config.checkpoint_dir, silent=True)
    documents = prepare(config, run)
    return build_network(documents, config, run), Inputs(documents), config, run


def fitted(inputs: Inputs, config: Config, weight: float) -> PlantedScores:
    train, labels = inputs.documents.corpus.train.texts, inputs.documents.document_labels
    return replace(PlantedScores.fit(train, labels, RidgeOptions.of(config.planted_scores)), weight=weight)


def test_validation_logits_are_the_networks_own_from_a_file_without_a_name(parts: Any) -> None:
    network, inputs, config, run = parts
    before = {path.name for path in run.folder.iterdir()}
    kept = validation_logits(network, inputs, config, run)
    assert {path.name for path in run.folder.iterdir()} == before
    for (logits, documents), (expected, numbers) in zip(
        kept, network_logits(network, inputs, "val", config), strict=True
    ):
        assert isinstance(logits, np.memmap)
        np.testing.assert_array_equal(logits, expected)
        np.testing.assert_array_equal(documents, numbers)


def test_without_a_validation_split_nothing_is_computed(parts: Any) -> None:
    _, inputs, config, run = parts
    arrays = {name: split for name, split in inputs.documents.arrays.items() if name != "val"}
    inputs = Inputs(replace(inputs.documents, arrays=arrays))
    assert validation_logits(None, inputs, config, run) == []  # type: ignore[arg-type]


@pytest.mark.parametrize("weight", [None, 3.0])
def test_the_threshold_of_micro_f1_becomes_the_offset(parts: Any, weight: float | None) -> None:
    network, inputs, config, run = parts
    planted = None if weight is None else fitted(inputs, config, weight=weight)
    scoring = Scoring(network, inputs, planted, config, run, validation_logits(network, inputs, config, run))
    tuned, thresholds = tune_thresholds(scoring)
    found = tune_on_validation(run, scoring.scored())
    assert found is not None
    before = found.thresholds
    assert scoring.log_odds == NOT_FITTED
    assert tuned.log_odds.offset == before["micro"] != 0
    assert thresholds["0.5"] == 0
    for name, value in before.items():
        assert thresholds[name] == float(tuned.log_odds.of(np.array([value], np.float32))[0])


def test_where_labels_are_looked_up_only_their_scores_are_added() -> None:
    listed, scores = np.array([[0, 3], [1, 2]], np.int32), np.array([[0.5, 1], [2, 4]], np.float32)
    documents: Any = SimpleNamespace(num_labels=4, labels={"val": sp.csr_array(np.eye(2, 4, dtype=np.float32))})
    inputs = Inputs(documents, shortlists=Shortlists({"val": listed}, {"val": scores}))
    zeros: Any = np.zeros(4, np.float32)
    planted = PlantedScores(None, zeros, weight=2.0)  # type: ignore[arg-type]
    logits = np.array([[1, 1], [1, 1]], np.float32)
    scoring = Scoring(None, inputs, planted, None, None, [(logits, np.array([1, 0]))])  # type: ignore[arg-type]
    ((summed, truth, numbers),) = scoring.summed("val", scoring.validation)
    np.testing.assert_array_equal(summed.todense(), [[0, 5, 9, 0], [2, 0, 0, 3]])  # type: ignore[union-attr]
    np.testing.assert_array_equal(truth.todense(), [[0, 1, 0, 0], [1, 0, 0, 0]])
    assert numbers.tolist() == [1, 0]
    assert (logits == 1).all()  # the network's own stay as they are
