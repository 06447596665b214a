"""Names are learned where enough validation documents have a label that only its name makes known."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from plant_plugin.data.label_names import LabelName
from plant_plugin.training.needed_names import worth_trying


@pytest.mark.parametrize("needing", [3, 4])
def test_names_that_few_validation_documents_need_are_not_tried(needing: int) -> None:
    """Else they are, and where they are wanted anyway."""
    val = SimpleNamespace(labels=[["A", "known"]] * needing + [["known"], ["nameless"]] * 5)
    corpus = SimpleNamespace(train=SimpleNamespace(labels=[["known"], ["other"]]), val=val)
    names, said = [LabelName("A", "one"), LabelName("known", "two")], list[str]()

    def tried(label_set: str) -> object:
        settings, log = SimpleNamespace(label_set=label_set), SimpleNamespace(log=said.append)
        scoring: Any = SimpleNamespace(settings=settings, documents=SimpleNamespace(corpus=corpus), run=log)
        return worth_trying(names, scoring)

    assert tried("named") is names
    assert tried("auto") is (names if needing == 4 else None)
    assert said == [
        "names: left out, as only 3 of 13 validation documents have a label that only its name makes known"
    ] * (needing == 3)
