"""Which metrics of two systems can be compared."""

from __future__ import annotations

import pytest

from plant_plugin.errors import DataError
from plant_plugin.evaluation.names import parse_metric
from plant_plugin.report.result import Result
from plant_plugin.report.systems import System, check_same_split, obstacle, system_of


def result(seed: int = 1, labels: str = "l", test: str = "t", size: int = 3) -> Result:
    return {
        "seed": seed, "metrics": {"P@1": 0.5, "MAP": None}, "counts": {"documents": 2, "labels": size},
        "hashes": {"labels": labels, "test": test, "train": "a"},
    }  # fmt: skip


def test_seeds_of_one_system_are_of_one_split() -> None:
    system = system_of("a", [("one", result(1), None), ("two", result(2), None)])
    assert (system.values("P@1"), system.values("MAP")) == ([0.5, 0.5], [])
    for other, message in ((result(1), "two results of seed 1"), (result(2, test="u"), "different test splits")):
        with pytest.raises(DataError, match=message):
            system_of("a", [("one", result(1), None), ("two", other, None)])


def test_other_splits_are_refused() -> None:
    with pytest.raises(DataError, match="different test splits"):
        check_same_split(System("a", [result()]), System("b", [result(test="u")]))


def test_other_label_sets_leave_only_what_is_no_mean_over_labels() -> None:
    ours, theirs = System("a", [result()]), System("b", [result(labels="m", size=4)])
    assert obstacle(parse_metric("P@1"), ours, theirs) is None
    for name, reason in (("Macro-F1@0.5", "mean over all labels"), ("PSP@1", "propensities"), ("MAP", "label sets")):
        assert reason in (obstacle(parse_metric(name), ours, theirs) or "")
    assert obstacle(parse_metric("Macro-F1@0.5"), ours, ours) is None
