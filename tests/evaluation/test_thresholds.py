from __future__ import annotations

from pathlib import Path
from typing import Any

import literal_metrics as literal
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import f1_score

from plant_plugin.errors import DataError, PlantError
from plant_plugin.evaluation import ranking, store, thresholds
from plant_plugin.evaluation.metrics import Evaluator
from plant_plugin.evaluation.thresholds import tune


def tune_thresholds(*batches: Any, **options: Any) -> dict[str, float]:
    return tune(*batches, **options).thresholds


def split(seed: int, levels: int | None, documents: int = 15, labels: int = 6) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    truth = (rng.random((documents, labels)) < 0.25).astype(np.float32)
    truth[:, 2] = 0
    scores = (rng.standard_normal(truth.shape) + truth - 1).astype(np.float32)
    return (scores if levels is None else np.round(scores * levels) / np.float32(levels)), truth


def f1(scores: np.ndarray, truth: np.ndarray, threshold: float) -> tuple[float, float]:
    values = literal.classified(scores, truth, threshold)
    return values["Micro-F1"], values["Macro-F1"]


def listed(scores: np.ndarray) -> sp.csr_array:
    rows, columns = np.nonzero(scores > -np.inf)
    return sp.csr_array((scores[rows, columns], (rows, columns)), shape=scores.shape)


@pytest.mark.parametrize("levels", [None, 1, 3])
@pytest.mark.parametrize("unscored", [0.0, 0.5])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_no_other_threshold_is_better(seed: int, levels: int | None, unscored: float, sparse: bool) -> None:
    scores, truth = split(seed, levels)
    scores[np.random.default_rng(seed).random(scores.shape) < unscored] = -np.inf
    given = listed(scores) if sparse else scores
    tuned = tune_thresholds((given[i : i + 4], sp.csr_matrix(truth[i : i + 4])) for i in range(0, len(scores), 4))
    distinct = [value for value in np.unique(scores) if np.isfinite(value)]
    brute = [f1(scores, truth, value) for value in [distinct[0] - 1, *distinct]]
    assert f1(scores, truth, tuned["micro"])[0] == pytest.approx(max(micro for micro, _ in brute), abs=1e-12)
    assert f1(scores, truth, tuned["macro"])[1] == pytest.approx(max(macro for _, macro in brute), abs=1e-12)


@pytest.mark.parametrize("block", [5, 4_000_000])
def test_labels_by_hand(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranking, "BLOCK_ELEMENTS", block)
    scores, truth = split(1, 3)
    found = tune([(scores, truth)], fixed={"0.5": 0.0})
    assert found.documents.tolist() == truth.sum(axis=0).tolist()
    assert list(found.f1) == ["0.5", "micro", "macro"]
    for name, threshold in {"0.5": 0.0, **found.thresholds}.items():
        by_hand = [
            f1_score(own, column > threshold, zero_division=0) for own, column in zip(truth.T, scores.T, strict=True)
        ]
        assert found.f1[name].tolist() == pytest.approx(by_hand)


@pytest.mark.parametrize("seed", range(5))
def test_changes_of_a_label_add_up_to_its_f1_at_every_candidate(seed: int) -> None:
    scores, truth = split(seed, 2, documents=8, labels=4)
    candidates = np.unique(scores[truth > 0])
    change = np.zeros(len(candidates))
    for label in np.flatnonzero(truth.any(axis=0)):
        thresholds._add_label(change, scores[:, label], scores[truth[:, label] > 0, label], candidates)
    sums = [4 * f1(scores, truth, np.nextafter(value, np.float32(-9)))[1] for value in candidates]
    assert change[::-1].cumsum()[::-1] == pytest.approx(sums)


@pytest.mark.parametrize("seed", range(3))
def test_the_evaluator_reaches_the_same_f1(seed: int) -> None:
    scores, truth = split(seed, None)
    tuned = tune_thresholds([(scores, truth)])
    evaluator = Evaluator(6, metrics=["Micro-F1@micro", "Macro-F1@macro"], thresholds=tuned)
    evaluator.update(scores, truth)
    found = evaluator.compute()
    assert found["Micro-F1@micro"] == pytest.approx(f1(scores, truth, tuned["micro"])[0])
    assert found["Macro-F1@macro"] == pytest.approx(f1(scores, truth, tuned["macro"])[1])


def test_by_hand() -> None:
    """Micro: at 3 F1 is 2/4, at 1 (with the false 2) 4/5... letting in -1 spoils it; half-way from 1 to -1 is 0."""
    scores = np.array([[3.0, 2.0], [1.0, -1.0]])
    truth = np.array([[1, 0], [1, 0]])
    tuned = tune_thresholds([(scores, truth)])
    assert tuned["micro"] == 0.0
    # Macro looks at label 0 alone (label 1 is never true, F1 0 whatever happens): both of its documents.
    assert tuned["macro"] == 0.0


def test_the_highest_of_equally_good_thresholds() -> None:
    """Predicting {3} gives 2·1/(1+2) and {3, 2, 1, 1} gives 2·2/(4+2): the same."""
    scores, truth = np.array([[3.0], [2.0], [1.0], [1.0]]), np.array([[1], [0], [1], [0]])
    assert tune_thresholds([(scores, truth)]) == {"micro": 2.5, "macro": 2.5}


def test_neighbours_in_float32_leave_no_middle() -> None:
    high = np.float32(1.0)
    low = np.nextafter(high, np.float32(0))
    tuned = tune_thresholds([(np.array([[high], [low]]), np.array([[1], [0]]))])
    assert np.float32(tuned["micro"]) == low
    assert f1(np.array([[high], [low]]), np.array([[1], [0]]), np.float32(tuned["micro"])) == (1.0, 1.0)


@pytest.mark.parametrize("low", [-np.inf, -3.0e38])
def test_extreme_scores(low: float) -> None:
    scores, truth = np.array([[3.0e38], [low]], dtype=np.float32), np.array([[1], [0]])
    for threshold in tune_thresholds([(scores, truth)]).values():
        assert np.isfinite(threshold)
        assert (scores > np.float32(threshold)).tolist() == [[True], [False]]


def test_everything_true_means_just_below_the_lowest_score(monkeypatch: pytest.MonkeyPatch) -> None:
    scores = np.array([[1.0, 3.0], [2.0, 4.0]], dtype=np.float32)
    expected = float(np.nextafter(np.float32(1), np.float32(0)))
    for elements in (1000, 2):  # one block, then one for each label
        monkeypatch.setattr(ranking, "BLOCK_ELEMENTS", elements)
        assert tune_thresholds([(scores, np.ones((2, 2)))]) == {"micro": expected, "macro": expected}


def test_no_true_pair_leaves_the_middle() -> None:
    assert tune_thresholds([(np.ones((2, 3)), np.zeros((2, 3)))]) == {"micro": 0.0, "macro": 0.0}
    unscored = np.full((1, 2), -np.inf)
    assert tune_thresholds([(unscored, np.ones((1, 2)))]) == {"micro": 0.0, "macro": 0.0}


@pytest.mark.parametrize("seed", range(3))
def test_sparse_scores(seed: int) -> None:
    scores, truth = split(seed, 2, documents=40)
    scores[scores < -1] = -np.inf
    scores[:, 4] = -np.inf  # true in some documents, and scored in none
    expected = tune([(scores, truth)], fixed={"0.5": 0.0})
    for batches in (
        [(listed(scores), truth)],
        [(listed(scores[:9]), truth[:9]), (listed(scores[9:]), truth[9:])],
        [(listed(scores[:9]), truth[:9]), (scores[9:], truth[9:])],
    ):
        found = tune(batches, fixed={"0.5": 0.0})
        assert found.thresholds == expected.thresholds
        assert found.documents.tolist() == expected.documents.tolist()
        for name, values in expected.f1.items():
            assert found.f1[name].tolist() == pytest.approx(values.tolist())


@pytest.mark.parametrize("batches", [[], [(np.zeros((0, 3)), np.zeros((0, 3)))]])
def test_no_validation_documents(batches: list) -> None:
    with pytest.raises(DataError, match="no validation documents"):
        tune_thresholds(batches)


@pytest.mark.parametrize("elements", [1, 7, 40])
def test_blocks_of_any_size_give_the_same(elements: int, monkeypatch: pytest.MonkeyPatch) -> None:
    scores, truth = split(2, 3)

    def everything() -> tuple[dict[str, float], dict[str, float]]:
        evaluator = Evaluator(6, metrics=["AUC-macro", "AUC-micro", "MAP"])
        evaluator.update(scores, truth)
        return tune_thresholds([(scores, truth)]), evaluator.compute()

    whole = everything()
    monkeypatch.setattr(ranking, "BLOCK_ELEMENTS", elements)
    found = everything()
    assert found[0] == whole[0]
    assert found[1] == pytest.approx(whole[1], abs=1e-12)


def test_scores_leave_nothing_behind(tmp_path: Path) -> None:
    scores, truth = split(0, None)
    tune_thresholds([(scores, truth)], spill_folder=tmp_path / "new")
    evaluator = Evaluator(6, spill_folder=tmp_path)
    evaluator.update(scores, truth)
    assert evaluator.compute()
    assert [path.name for path in tmp_path.rglob("*")] == ["new"]


def test_folder_for_scores_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(PlantError, match="cannot be kept on disk"):
        tune_thresholds([(np.ones((1, 1)), np.ones((1, 1)))], spill_folder=tmp_path / "file" / "x")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full, which only Linux has")
def test_full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store.tempfile, "TemporaryFile", lambda dir: open("/dev/full", "wb"))
    with pytest.raises(PlantError, match=r"No space left on device.*\n.*leave out AUC"):
        thresholds.tune([(np.ones((1, 1)), np.ones((1, 1)))])
