"""CodiEsp-X by its rule, and as the task's own script counts it."""

from __future__ import annotations

import pytest

from plant_plugin.data.evidence import DocumentMarks, extents
from plant_plugin.evaluation.codiesp_x import codiesp_x_counts, place_found, precision_recall_f1


@pytest.mark.parametrize(
    ("predicted", "found"),
    [
        ((100, 110), True),
        ((90, 120), True),  # ten characters too many on either side
        ((89, 110), False),
        ((100, 121), False),
        ((101, 110), False),  # the place has to be held whole
        ((100, 109), False),
    ],
)
def test_a_predicted_place_holds_the_marked_one(predicted: tuple[int, int], found: bool) -> None:
    assert place_found([predicted], [(100, 110)]) == found
    assert place_found([(0, 5), predicted], [(300, 310), (100, 110)]) == found


def test_precision_counts_pairs_with_a_place() -> None:
    counts = codiesp_x_counts([{"a": [(1, 2)]}, {}], [{"a": [(1, 2), (5, 9)], "b": []}, {"c": [(3, 4)]}])
    assert counts.tolist() == [[1, 1, 1], [0, 1, 0]]
    assert precision_recall_f1(counts) == (0.5, 1.0, 2 / 3)
    assert precision_recall_f1(codiesp_x_counts([], [])) == (0, 0, 0)


def test_as_the_script_of_the_task_counts() -> None:
    """Micro-averages of codiespX_evaluation.py (TeMU-BSC/codiesp-evaluation-script, 976fc11, pandas 1.5.3).

    The script read these made-up tables as TSV, with all codes valid, and printed 0.444444444444, 0.5, 0.470588235294.
    The place of bw24 stood there as ``60 64;70 80``, a mark in two parts.
    """
    marks: list[DocumentMarks] = [
        {"r50.9": [[(10, 20)], [(100, 110)]], "i10": [[(40, 52)]], "bw24": [[(60, 64), (70, 80)]],
         "j18.9": [[(200, 215)]]},
        {"i10": [[(5, 17)]], "e11.9": [[(30, 44)]], "0dtj": [[(50, 61)]]},
        {"n20.0": [[(8, 23)]]},
        {},
    ]  # fmt: skip
    marked = [extents(own) for own in marks]
    predicted = [
        {
            "r50.9": [(90, 110), (300, 310)],
            "i10": [(29, 52)],
            "bw24": [(55, 90)],
            "j18.9": [(201, 215)],
            "n20.0": [(1, 5)],
        },
        {"i10": [(5, 27)], "e11.9": [(30, 55)], "0dtj": [(50, 61)]},
        {},
        {"i10": [(3, 9)]},
    ]
    found = precision_recall_f1(codiesp_x_counts(marked, predicted))
    assert found == pytest.approx((0.444444444444, 0.5, 0.470588235294), abs=1e-12)
