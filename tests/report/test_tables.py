from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from rich.console import Console

from plant_plugin.evaluation.metrics import Evaluator
from plant_plugin.report.tables import percent, print_results


def printed(result: dict[str, Any]) -> str:
    console = Console(width=200)
    with console.capture() as captured:
        print_results(result, console=console)
    return captured.get()


def whole_result() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    thresholds = {"0.5": 0.0, "micro": 0.25, "macro": 0.125}
    evaluator = Evaluator(20, train_label_counts=np.arange(20) * 40, num_train=1000, thresholds=thresholds)
    evaluator.update(rng.standard_normal((30, 20)), rng.random((30, 20)) < 0.1)
    return {
        "dataset": "demo",
        "model": "PLANT",
        "strategy": "plant",
        "seed": 7,
        "split": "test",
        "metrics": evaluator.compute(),
        "counts": {**evaluator.counts, "dropped_labels": 1234},
        "thresholds": thresholds,
        "time_s": {"stage1": 1.25, "total": 2.0},
        "peak_memory_mb": {"stage1": 10.0, "total": 2345.6},
        "device": "cpu",
        "backend": "builtin",
    }


def row(text: str, start: str) -> list[str]:
    lines = [line for line in text.splitlines() if line.strip().startswith(start)]
    assert len(lines) >= 1, f"no row {start!r} in\n{text}"
    return lines[0].split()


def test_numbers_are_percent_beside_their_cutoffs() -> None:
    text = printed({"metrics": {"P@1": 0.7901, "P@5": 0.5, "nDCG@5": 0.612345}})
    assert row(text, "at k =")[-2:] == ["1", "5"]
    assert row(text, "P ") == ["P", "79.01", "50.00"]
    assert row(text, "nDCG") == ["nDCG", "61.23"]
    assert "percent" in text


def test_whole_result_says_what_every_number_is() -> None:
    result = whole_result()
    text = printed(result)
    assert "demo · PLANT · plant · test split, seed 7" in text
    for words in (
        "30 documents",
        "without labels",
        "20 labels",
        "present in this split",
        "1,234 true labels outside the label set",
        "tuned on validation",
        "score > 0.25",
        "Macro-F1 (all labels)",
        "Macro-F1-present (labels in this split)",
        "Macro-F1-caml (from mean P and R)",
        f"AUC-macro (mean over the {result['counts']['auc_labels']} labels",
        "stage1 1.2 s",
        "2,346 MB",
        "builtin",
    ):
        assert words in text, words
    assert percent(result["metrics"]["P@5"]) in row(text, "P ")
    assert percent(result["metrics"]["Macro-F1@macro:>500"]) == row(text.split("how often")[1], "Macro-F1 ")[-1]
    assert percent(result["metrics"]["Micro-F1@micro"]) == row(text, "Micro-F1")[2]


def test_metric_of_another_program_and_undefined_value_are_shown() -> None:
    text = printed({"metrics": {"theirs": 0.5, "[all][/x]": 0.25, "AUC-macro": None}})
    assert row(text, "theirs")[-1] == "50.00"
    assert row(text, "[all][/x]")[-1] == "25.00"
    assert row(text, "AUC-macro")[-1] == "–"


@pytest.mark.parametrize(("value", "text"), [(0.0, "0.00"), (1.0, "100.00"), (None, "–"), (float("nan"), "–")])
def test_percent(value: float | None, text: str) -> None:
    assert percent(value) == text


def test_empty_result() -> None:
    assert "percent" in printed({})
