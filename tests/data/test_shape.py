from __future__ import annotations

import re

import pytest

from plant_plugin.data.shape import check_shape
from plant_plugin.errors import DataError

TEXTS = [f"patient {number} has sugar and a cough since monday" for number in range(30)]
LABELS = [["E11.9", "R05"] if number % 2 else ["I10"] for number in range(30)]


def problem(texts: list[str], labels: list[list[str]], *, named: bool = False) -> str:
    with pytest.raises(DataError) as error:
        check_shape(texts, labels, "my.txt", named=named)
    assert "sugar" not in str(error.value)
    return str(error.value)


def test_documents_pass() -> None:
    check_shape(TEXTS, LABELS, "my.txt", named=False)
    check_shape(TEXTS, [[] for _ in TEXTS], "my.txt", named=False)
    check_shape([], [], "my.txt", named=False)
    check_shape(["pressure", "sugar"], [["I10"], ["E11.9"]], "my.txt", named=False)
    check_shape(["Old Masters", *TEXTS], [["art"], *LABELS], "my.txt", named=False)
    check_shape([f"title {number}" for number in range(30)], [[f"l{n}" for n in range(9)]] * 30, "t", named=False)


@pytest.mark.parametrize(
    ("text", "label"), [("note", "icd"), ("TEXT", "ICD10_CODES"), ("discharge_summary", "code"), ("befund", "diagnose")]
)
def test_a_header_is_no_document(text: str, label: str) -> None:
    assert "my.txt, line 1: the first line seems to be a header" in problem([text, *TEXTS], [[label], *LABELS])
    check_shape([text, *TEXTS], [[label], *LABELS], "my.csv", named=True)


def test_swapped_columns_are_seen() -> None:
    swapped = [" ".join(labels) for labels in LABELS], [text.split() for text in TEXTS]
    assert "columns seem to be swapped" in problem(*swapped)
    assert "name the columns" in problem(*swapped, named=True)
    clauses = [[f"the_patient_number_{number}_came_with_sugar_and_more"] for number in range(30)]
    assert "columns seem to be swapped" in problem(["I10 R05"] * 30, clauses)


def test_other_shapes_are_named() -> None:
    assert "URI" in problem([f"http://example.org/{number}" for number in range(30)], LABELS)
    assert "CoNLL" in problem(["O", "O", "B-Dx"] * 10, [[f"word{number}"] for number in range(30)])
    for flags in (["0", "1", "0"], ["0,1,1,0"], ["0110"]):
        assert re.search("labels are 0 and 1", problem(TEXTS[:2], [flags, flags]))
