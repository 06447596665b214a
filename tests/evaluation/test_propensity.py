from __future__ import annotations

import importlib
import importlib.util
import math
from collections.abc import Iterator

import numpy as np
import pytest
import scipy.sparse as sp

from plant_plugin.errors import ConfigError
from plant_plugin.evaluation import propensity, ranking


@pytest.fixture
def fresh() -> Iterator[None]:
    """Looks for pyxclib anew, before and after."""
    propensity.xclib_metrics.cache_clear()
    yield
    propensity.xclib_metrics.cache_clear()


def case() -> tuple[np.ndarray, sp.csr_matrix, np.ndarray]:
    """Two documents of three labels, weights 4, 2, 1: document 0 has labels 0 and 2, document 1 has label 1."""
    top = np.array([[2, 1], [1, 3]])  # 3 = L: nothing scored at rank 2
    return top, sp.csr_matrix(np.array([[1.0, 0, 1], [0, 1, 0]])), np.array([4.0, 2.0, 1.0])


def builtin(top: np.ndarray, truth: sp.csr_matrix, weights: np.ndarray) -> dict[str, np.ndarray]:
    return ranking.overall(ranking.contributions(top, truth, weights))


def test_by_hand() -> None:
    found = builtin(*case())
    # Gained 1 and 2, at best 4 and 2 (k=1), 4 + 1 and 2 (k=2): ratios of sums over documents.
    assert found["PSP"] == pytest.approx([3 / 6, 3 / 7])
    discount = 1 / np.log2(3)
    assert found["PSnDCG"] == pytest.approx(
        [3 / 6, (1 / (1 + discount) + 2) / ((4 + discount) / (1 + discount) + 2)],
    )
    assert found["PSR"] == pytest.approx([(1 / 2 + 2) / (4 / 2 + 2), (1 / 2 + 2) / (5 / 2 + 2)])


def test_more_true_labels_than_ranks() -> None:
    top, truth, weights = case()
    whole = builtin(top, truth, weights)
    first = builtin(top[:, :1], truth, weights)
    assert {family: values[:1].tolist() for family, values in whole.items()} == {
        family: values.tolist() for family, values in first.items()
    }


def test_one_training_document_is_enough() -> None:
    # ln 1 - 1 = -1: 1 - (2.5 / (N_l + 1.5))^0.55, which is 0 for the label of that document.
    assert propensity.inverse_propensities([1, 0], 1) == pytest.approx([0.0, 1 - (2.5 / 1.5) ** 0.55])


@pytest.mark.parametrize("model", [(1e9, 1.5), (math.nan, 1.0), (-0.1, 1.0), (0.5, 0.0), (0.5, math.inf)])
def test_a_model_that_means_nothing_is_refused(model: tuple[float, float]) -> None:
    with pytest.raises(ConfigError, match="propensities are undefined"):
        propensity.inverse_propensities([1, 0], 10, *model)


def test_pyxclib_agrees() -> None:
    if propensity.xclib_metrics() is None:
        pytest.skip("pyxclib is not installed")
    theirs, ours = propensity.ranked_metrics(*case()), builtin(*case())
    for family, values in ours.items():
        assert theirs[family] == pytest.approx(values, abs=1e-6), family


def test_absent_pyxclib(fresh: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_parent(name: str) -> None:
        raise ModuleNotFoundError(name)  # what find_spec does for a submodule of a missing package

    monkeypatch.setattr(importlib.util, "find_spec", no_parent)
    assert propensity.xclib_metrics() is None
    found = propensity.ranked_metrics(*case())
    assert found["PSP"] == pytest.approx([3 / 6, 3 / 7])
    assert found["P"] == pytest.approx([1.0, 0.5])


def test_pyxclib_that_does_not_load(fresh: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(name: str) -> None:
        raise ImportError("numpy.core.multiarray failed to import")

    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    monkeypatch.setattr(importlib, "import_module", broken)
    assert propensity.xclib_metrics() is None
