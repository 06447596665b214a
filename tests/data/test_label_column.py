from __future__ import annotations

import pytest

from plant_plugin.data.label_column import LabelColumn, find_separator
from plant_plugin.errors import DataError


@pytest.mark.parametrize(
    ("cells", "separator", "labels"),
    [
        (["food safety;public health", "public health"], ";", [["food_safety", "public_health"], ["public_health"]]),
        (["I10|E11.9", "I10"], "|", [["I10", "E11.9"], ["I10"]]),
        (["I10,E11.9", "I10"], ",", [["I10", "E11.9"], ["I10"]]),
        (["I10, E11.9", "I10"], ",", [["I10", "E11.9"], ["I10"]]),
        (["neoplasms, benign;rare", "rare"], ";", [["neoplasms,_benign", "rare"], ["rare"]]),
        (["I10 E11.9", "I10"], " ", [["I10", "E11.9"], ["I10"]]),
        (['["a b", "c"]', "[]"], "[]", [["a_b", "c"], []]),
        (["['I10']", "[1, 2]"], "[]", [["I10"], ["1", "2"]]),
        (["I10;", "", " ; E11.9"], ";", [["I10"], [], ["E11.9"]]),
        ([], " ", []),
    ],
)
def test_one_separator_for_the_column(cells: list[str], separator: str, labels: list[list[str]]) -> None:
    column = find_separator(cells, "t.csv")
    assert column.separator == separator
    assert [column.labels(cell) for cell in cells] == labels


@pytest.mark.parametrize(
    ("cells", "separator", "labels"),
    [
        (["0", "1,2"], ",", [["0"], ["1", "2"]]),
        (["0::1.0", "1::2.0,2::.5"], ",", [["0"], ["1", "2"]]),
        (["a::1.0 b::2e-3"], " ", [["a", "b"]]),
        (["food,_safety a", "food"], " ", [["food,_safety", "a"], ["food"]]),
        (["public health"], " ", [["public", "health"]]),
    ],
)
def test_where_the_format_says_spaces(cells: list[str], separator: str, labels: list[list[str]]) -> None:
    column = find_separator(cells, "t.txt", by_spaces=True)
    assert column.separator == separator
    assert [column.labels(cell) for cell in cells] == labels


@pytest.mark.parametrize(
    ("cells", "by_spaces"),
    [
        (["I10;E11.9", "I10|R05"], False),
        (["I10;E11.9", "J81|R05"], False),
        (["I10;E11.9", "I10,E11.9"], False),
        (["I10 E11.9", "heart failure;old age"], False),
        (["neoplasms, benign", "I10"], False),
        (["food safety, public health"], False),
        (["I10, E11.9", "I10"], True),
        (["I10 E11.9", "I10,E11.9"], True),
        (["R05,J81", "I10,E11"], True),
        (["I10; E11.9"], True),
        (["a|b", "a"], True),
    ],
)
def test_what_two_separators_may_have_separated_is_refused_without_its_words(cells: list[str], by_spaces: bool) -> None:
    with pytest.raises(DataError, match=r"t\.csv: .*\n.*--label_separator") as error:
        find_separator(cells, "t.csv", by_spaces=by_spaces)
    assert not any(word in str(error.value) for word in "I10 E11.9 R05 J81 benign safety".split())


def test_a_cell_that_is_no_list_among_lists_is_an_error() -> None:
    for cell in ("['a' 'b']", "[a, b]", "[{'a': 1}]", "a"):
        with pytest.raises(ValueError, match="no list of labels"):
            LabelColumn("[]").labels(cell)


def test_it_is_said_in_one_line() -> None:
    assert str(LabelColumn(";")) == "labels are separated by semicolons"
    assert str(LabelColumn(",", weighted=True)) == "labels are separated by commas, their weights are left out"
    assert str(LabelColumn("[]")) == "labels are lists in brackets"
    assert str(LabelColumn("//")) == "labels are separated by '//'"
