"""Where LibMultiLabel has a metric of the same name, it is the same number."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from plant_plugin.evaluation.metrics import Evaluator

NAMES = ["P@1", "P@5", "R@5", "RP@5", "Micro-F1", "Macro-F1", "Another-Macro-F1"]
NEURAL = ["nDCG@5", "Micro-Precision", "Micro-Recall"]
pytestmark = pytest.mark.integration  # importing LibMultiLabel takes seconds


def split() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(5)
    truth = (rng.random((80, 40)) < rng.random(40) * 0.2).astype(np.int64)
    truth[:, :6] = 0
    truth[:4] = 0
    return (rng.standard_normal(truth.shape) + 2 * truth - 1).astype(np.float32), truth


def ours(names: list[str]) -> dict[str, float]:
    scores, truth = split()
    evaluator = Evaluator(truth.shape[1], metrics=names)
    evaluator.update(scores, sp.csr_matrix(truth))
    return evaluator.compute()


def test_linear() -> None:
    from libmultilabel.linear import compute_metrics

    names = [*NAMES, "NDCG@5"]
    scores, truth = split()
    assert ours(names) == pytest.approx(compute_metrics(scores, truth, names), abs=1e-9)


def test_neural() -> None:
    import torch
    from libmultilabel.nn.metrics import get_metrics

    names = [*NAMES, *NEURAL]
    scores, truth = split()
    theirs = get_metrics(0.5, names, truth.shape[1])
    theirs.update(torch.sigmoid(torch.from_numpy(scores)), torch.from_numpy(truth))
    expected = {name: float(value) for name, value in theirs.compute().items()}
    assert ours(names) == pytest.approx(expected, abs=1e-6)


def test_macro_f1_has_three_values_here() -> None:
    found = ours(["Macro-F1", "Macro-F1-present", "Macro-F1-caml"])
    values = sorted(found.values())
    assert values[0] + 0.01 < values[1] < values[2] - 0.01
