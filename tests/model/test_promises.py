from __future__ import annotations

from pathlib import Path

from plant_plugin.evaluation.promises import Outcome
from plant_plugin.model.promises import promises_of
from plant_plugin.report.promises import note_promises


def test_the_card_says_what_was_promised_and_what_held(tmp_path: Path) -> None:
    of_validation: dict[str, Outcome] = {
        "promise 0.9": {"documents": 40, "listed": 0.91, "labels": 1204.25},
        "promise 0.98": {"documents": 40, "needs": 49},
        "accept 0.98": {"documents": 40, "listed": 0.3, "labels": 1.5, "true": 0.99},
    }
    note_promises(tmp_path, "val", of_validation)
    note_promises(tmp_path, "test", {"promise 0.9": {"listed": 0.889, "labels": 9.0}})
    rows = promises_of(tmp_path).splitlines()
    assert "| promise 0.9 | 91.00 | 88.90 | 1,204.2 |" in rows
    assert "| accept 0.98 | 99.00 | – | 1.5 |" in rows
    assert not any("0.98 |" in row and "promise" in row for row in rows)


def test_a_model_without_promises_says_so(tmp_path: Path) -> None:
    assert promises_of(tmp_path) == "It promises no share of true labels."
