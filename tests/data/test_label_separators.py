from __future__ import annotations

import pytest

from plant_plugin.data.label_separators import LabelColumn, check_cells, one_label
from plant_plugin.errors import DataError


def test_a_cell_that_is_no_list_among_lists_is_an_error() -> None:
    for cell in ("['a' 'b']", "[a, b]", "[{'a': 1}]", "a"):
        with pytest.raises(ValueError, match="no list of labels"):
            LabelColumn("[]").labels(cell)


def test_it_is_said_in_one_line() -> None:
    assert str(LabelColumn(";")) == "labels are separated by semicolons"
    assert str(LabelColumn(",", weighted=True)) == "labels are separated by commas, their weights are left out"
    assert str(LabelColumn("[]")) == "labels are lists in brackets"
    assert str(LabelColumn("//")) == "labels are separated by '//'"


def test_only_what_the_format_says_need_not_be_said() -> None:
    assert not LabelColumn(by_format=True).said
    assert LabelColumn().said == "labels are separated by spaces"
    assert LabelColumn(weighted=True, by_format=True).said


def test_white_space_in_a_label_is_an_underscore() -> None:
    assert one_label(" public \t health") == "public_health"


def test_a_label_with_a_weight_of_zero_does_not_hold() -> None:
    column = LabelColumn(",", weighted=True)
    assert column.labels("A::0.9,B::0,C::0.0,D::0.01,E::-0e5,F::10") == ["A", "D", "F"]


@pytest.mark.parametrize(
    ("cell", "separator"), [("a|b", ";"), ("I10,R05", ";"), ("I10 R05", ";"), ("a;b", " "), ("benign, old", ",")]
)
def test_another_separator_inside_is_refused(cell: str, separator: str) -> None:
    with pytest.raises(DataError, match=r"t\.csv"):
        check_cells({cell, "x"}, LabelColumn(separator), (), "t.csv", by_spaces=False)


def test_parts_that_training_knows_are_several_and_wholes_are_one() -> None:
    column = LabelColumn(";")
    check_cells({"heart,lungs"}, column, (), "t.csv", by_spaces=False)
    check_cells({"heart,lungs"}, column, {"heart,lungs", "heart"}, "t.csv", by_spaces=False)
    with pytest.raises(DataError, match="separated by commas"):
        check_cells({"heart,lungs"}, column, {"heart"}, "t.csv", by_spaces=False)
