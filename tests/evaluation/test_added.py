"""Metrics that a user's registry adds, batch by batch."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from plant_plugin.errors import ConfigError
from plant_plugin.evaluation import names
from plant_plugin.evaluation.added import AddedMetric

TRUTH = sp.csr_matrix([[1, 0], [1, 1]])
SCORES = np.array([[2.0, 1.0], [0.0, 3.0]], np.float32)


def added(monkeypatch: pytest.MonkeyPatch, function: object, argument: str | None = None) -> AddedMetric:
    entry = SimpleNamespace(summary="A.", load=lambda: function, signature=lambda: {argument: None} if argument else {})
    monkeypatch.setattr(names, "added", lambda: {"Mine": entry})
    return AddedMetric(names.parse_metric("Mine@2" if argument else "Mine"))


def test_a_quotient_of_sums_over_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    metric = added(monkeypatch, lambda scores, truth, k: (scores.max(axis=1) * k, np.diff(truth.indptr)), "k")
    for _ in range(2):
        metric.add(SCORES, TRUTH)
    assert metric.columns().tolist() == 2 * [[4, 1], [6, 2]]
    assert metric.value() == pytest.approx(20 / 6)


def test_nothing_below_the_line_is_no_number(monkeypatch: pytest.MonkeyPatch) -> None:
    metric = added(monkeypatch, lambda scores, truth: (np.zeros(2), np.zeros(2)))
    metric.add(SCORES, TRUTH)
    assert math.isnan(metric.value())


@pytest.mark.parametrize("value", [0.5, (np.ones(2), np.ones(3)), (np.ones(1), np.ones(1)), ("a", "b")])
def test_anything_but_two_numbers_a_document_is_refused(monkeypatch: pytest.MonkeyPatch, value: object) -> None:
    with pytest.raises(ConfigError, match="metric Mine"):
        added(monkeypatch, lambda scores, truth: value).add(SCORES, TRUTH)
