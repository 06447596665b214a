from __future__ import annotations

import pytest

from plant_plugin.data.label_column import Trained, find_separator
from plant_plugin.data.label_separators import LabelColumn
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
        (["public health\nfood", "food"], "\n", [["public_health", "food"], ["food"]]),
        (["public health\tfood", "food"], "\t", [["public_health", "food"], ["food"]]),
        (["I10;\nE11.9"], ";", [["I10", "E11.9"]]),
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
        (["I10 E11.9\nR05"], False),
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


SEMICOLONS = Trained(LabelColumn(";"), frozenset({"public_health", "food"}))


@pytest.mark.parametrize(
    ("cells", "after", "labels"),
    [
        (["public health", "food"], SEMICOLONS, [["public_health"], ["food"]]),
        (["neoplasms, benign"], SEMICOLONS, [["neoplasms,_benign"]]),
        (["public health"], Trained(labels=SEMICOLONS.labels), [["public_health"]]),
        (["a b"], Trained(labels=SEMICOLONS.labels), [["a", "b"]]),
        (["0"], Trained(LabelColumn(" ", weighted=True)), [["0"]]),
    ],
)
def test_training_decides(cells: list[str], after: Trained, labels: list[list[str]]) -> None:
    column = find_separator(cells, "t.csv", after=after)
    assert [column.labels(cell) for cell in cells] == labels


@pytest.mark.parametrize(
    ("cells", "after"),
    [
        (["['a', 'b']", "['a']"], SEMICOLONS),
        (["a", "b"], Trained(LabelColumn("[]"))),
        (["a,b", "c,d"], SEMICOLONS),
        (["a::0.1", "b::2"], Trained(LabelColumn(" "))),
        (["a;b", "c"], Trained(LabelColumn(" "))),
        (["public health"], Trained(labels=frozenset({"public_health", "public", "health"}))),
    ],
)
def test_what_disagrees_with_training_is_refused(cells: list[str], after: Trained) -> None:
    with pytest.raises(DataError, match=r"t\.csv"):
        find_separator(cells, "t.csv", after=after)


def test_text_and_tables_are_separated_each_by_its_own_format() -> None:
    by_text = Trained(LabelColumn(by_format=True), frozenset({"public_health", "old", "age"}))
    assert find_separator(["public health"], "t.csv", after=by_text).separator == ";"
    assert find_separator(["old age"], "t.txt", by_spaces=True, after=by_text).separator == " "
    with pytest.raises(DataError, match=r"t\.txt"):
        find_separator(["public health"], "t.txt", by_spaces=True, after=SEMICOLONS)
