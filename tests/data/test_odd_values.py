from __future__ import annotations

import pytest

from plant_plugin.data.columns import Columns
from plant_plugin.data.first_look import look_at
from plant_plugin.data.odd_values import say_what_is_odd

TEXTS = ["chest pain with zorblatt since monday", "two weeks of cough", "a fall at home in the garden"]
LABELS = [["I10", "E11.9"], ["J18.9"], ["S52.92XA"]]


@pytest.mark.parametrize(
    ("texts", "labels", "columns", "what"),
    [
        (["nan", "None", TEXTS[0]], LABELS, Columns(), "2 of 3 texts are empty"),
        (TEXTS, [["nan"], ["E11.9"], ["None"]], Columns(), "2 labels are words"),
        (TEXTS, [["I10", "and", "E11"], ["E11.9"], ["J18"]], Columns(), "1 labels are words"),
        (TEXTS, [["1001"], ["1002"], ["1003"]], Columns(), "are they ids"),
        (TEXTS, [["1"], ["0"], ["1"]], Columns(), "0 and 1"),
        (TEXTS, [["I10_E11"], ["E11"], ["J18"]], Columns(separator="|"), "no document has two labels"),
    ],
)
def test_what_is_odd_is_said(
    texts: list[str], labels: list[list[str]], columns: Columns, what: str, caplog: pytest.LogCaptureFixture
) -> None:
    say_what_is_odd(texts, labels, "my.txt", columns)
    assert what in caplog.text
    assert "zorblatt" not in caplog.text


def test_documents_are_not_odd(caplog: pytest.LogCaptureFixture) -> None:
    look_at(TEXTS, LABELS, [], "my.txt", named=True, columns=Columns())
    assert not caplog.text
    look_at(["nan", *TEXTS[1:]], LABELS, [], "my.txt", named=True, columns=Columns())
    assert "1 of 3 texts are empty" in caplog.text
