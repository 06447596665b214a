"""The weights that validation documents choose: the bend of sums, and folders that are older than a weight."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from plant_plugin.errors import CheckpointError
from plant_plugin.evaluation.arrays import ArrayFile
from plant_plugin.relevance.chosen_weights import BEFORE, CHOSEN, ChosenWeights, read_chosen

SUMS = np.array([0, 0.1, 1, 5, 52, 208], dtype=np.float32)


@pytest.mark.parametrize(
    ("bend", "expected"),
    [(0.0, SUMS), (0.5, 2 * (np.sqrt(1 + SUMS) - 1)), (1.0, np.log(1 + SUMS)), (2.0, SUMS / (1 + SUMS))],
)
def test_sums_are_bent_and_keep_their_order(bend: float, expected: np.ndarray) -> None:
    weights = ChosenWeights(bend=bend)
    bent = weights.bent(SUMS)
    assert bent.dtype == np.float32
    np.testing.assert_allclose(bent, expected, rtol=1e-5)
    assert (np.diff(bent) > 0).all()
    assert (bent <= SUMS).all()


@pytest.mark.parametrize("bend", [0.0, 0.5, 1.0, 2.0])
def test_what_phrases_add_is_their_share_of_the_bent_sum(bend: float) -> None:
    weights, shares = ChosenWeights(bend=bend), [0.5, 3.0, 0.25]
    bent = weights.bent_shares(shares)
    assert sum(bent) == pytest.approx(weights.bent(np.float32(3.75)), rel=1e-6)
    np.testing.assert_allclose(np.divide(bent, shares), bent[0] / 0.5, rtol=1e-6)
    assert weights.bent_shares([]) == []
    assert weights.bent_shares([0.0]) == [0.0]


def write(folder: Path, weights: dict[str, float]) -> ArrayFile:
    np.savez(folder / "weights.npz", **{name: np.float64(value) for name, value in weights.items()})  # type: ignore[arg-type]
    return ArrayFile.read(folder / "weights.npz", "planted scores", fix="train anew")


def test_a_folder_that_is_older_than_a_weight_is_read_as_it_was(tmp_path: Path) -> None:
    weights = {**dict.fromkeys(CHOSEN, 0.25), "bend": 0.0}
    assert read_chosen(write(tmp_path, weights)) == weights
    older = {name: value for name, value in weights.items() if name not in BEFORE}
    assert read_chosen(write(tmp_path, older)) == {**older, **BEFORE}
    sums = ChosenWeights(**read_chosen(write(tmp_path, older))).bent(SUMS)
    np.testing.assert_array_equal(sums, SUMS)
    del older["weight"]
    with pytest.raises(CheckpointError, match="weight"):
        read_chosen(write(tmp_path, older))
