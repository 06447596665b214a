from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from plant_plugin.errors import CheckpointError
from plant_plugin.evaluation.arrays import ArrayFile
from plant_plugin.relevance.names.trees import Trees


@pytest.fixture(scope="module")
def trees() -> Trees:
    counts = np.random.default_rng(0).normal(size=(2000, 3)).astype(np.float32)
    return Trees.fit(counts, (counts[:, 0] > 1) & (counts[:, 1] > 0))


def test_what_was_true_in_training_has_the_higher_log_odds(trees: Trees) -> None:
    right, wrong = trees.log_odds(np.array([[2, 1, 0], [-1, 1, 0]], np.float32))
    assert right > 0 > wrong


def test_arrays_make_the_same_trees(trees: Trees) -> None:
    counts = np.random.default_rng(1).normal(size=(50, 3)).astype(np.float32)
    again = Trees.from_arrays(ArrayFile(Path("x"), trees.arrays("")), 3)
    np.testing.assert_array_equal(again.log_odds(counts), trees.log_odds(counts))


@pytest.mark.parametrize(
    ("name", "value"),
    [("features", 3), ("left", 0), ("left", 10**6), ("right", 0), ("right", -5), ("roots", -1), ("thresholds", np.nan)],
)
def test_trees_that_would_never_end_or_read_elsewhere_are_refused(trees: Trees, name: str, value: float) -> None:
    arrays = {key: array.copy() for key, array in trees.arrays("").items()}
    inner = int(np.flatnonzero(arrays["left"] >= 0)[1]) if name != "roots" else 0
    arrays[name][inner] = value
    with pytest.raises(CheckpointError):
        Trees.from_arrays(ArrayFile(Path("x"), arrays), 3)


def test_without_any_true_candidate_all_are_unlikely() -> None:
    counts = np.zeros((4, 3), np.float32)
    assert (Trees.fit(counts, np.zeros(4, bool)).log_odds(counts) < -5).all()
