from __future__ import annotations

import pytest

from plant_plugin.errors import DataError
from plant_plugin.prepare.marked.entries import annotated_task, with_text


@pytest.mark.parametrize(
    ("row", "name"),
    [
        ({"text": "secret", "label": "A", "answer": "reject", "_input_hash": 1}, "Prodigy"),
        ({"text": "secret", "subjects": []}, "Annif"),
        ({"data": {"text": "secret"}, "annotations": []}, "Label Studio"),
        ({"label": []}, "no text"),
        ({"label": [[0, 6, "A"]]}, "no text"),
        (7, "no text"),
    ],
)
def test_rows_of_other_programs(row: object, name: str) -> None:
    with pytest.raises(DataError, match=name) as caught:
        with_text(row, "x", ("label",))
    assert "secret" not in str(caught.value)


def test_rows_and_tasks() -> None:
    assert with_text({"data": "x", "label": []}, "y", ("label",))[1] == "x"
    assert annotated_task({"completions": [1], "id": 2}, "x", "y") == {"annotations": [1], "id": 2}
    for task, what in (({"annotations": [], "predictions": [1]}, "predictions of a model"), ({}, "no annotations"),
                       (7, "no annotations")):  # fmt: skip
        with pytest.raises(DataError, match=what):
            annotated_task(task, "x", "y")
