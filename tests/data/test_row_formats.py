from __future__ import annotations

import io

import pytest

from plant_plugin.data.row_formats import csv_rows, json_values, values_in
from plant_plugin.errors import DataError


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_header_says_what_separates_columns(delimiter: str) -> None:
    lines = [f"text{delimiter}labels\n", f'"a, b; c | d"{delimiter}I10\n']
    assert list(csv_rows(iter(lines), "text")) == [(1, ["text", "labels"]), (2, ["a, b; c | d", "I10"])]


def test_excels_first_line_counts_and_is_no_row() -> None:
    for sign in (";", "\t", "|"):
        lines = [f"sep={sign}\r\n", f"text{sign}labels\n", f"pressure{sign}I10\n"]
        assert list(csv_rows(iter(lines))) == [(2, ["text", "labels"]), (3, ["pressure", "I10"])]


def test_rows_of_another_width_and_open_quotes_are_errors_with_their_line() -> None:
    rows = list(csv_rows(iter(["text,labels\n", "a,b,c\n", "\n", '"never closed,x\n']), "text"))
    assert [line for line, _ in rows] == [1, 2, 4]
    assert all(isinstance(row, DataError) for _, row in rows[1:])
    assert list(csv_rows(iter([]))) == []


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1}\n{"a": 2}\n',
        '[{"a": 1}, {"a": 2}]',
        '[\n {"a": 1},\n {"a": 2}\n]\n',
        '{\n "a": 1\n}\n{\n "a": 2\n}\n',
        '\n{"a":\n 1}{"a": 2}'.replace(":\n", ":\n").replace('{"a"', '{\n"a"', 1),
    ],
)
def test_lines_lists_and_objects_over_lines_hold_the_same(text: str) -> None:
    assert [value for _, value in json_values(enumerate(io.StringIO(text), 1))] == [{"a": 1}, {"a": 2}]


def test_values_carry_the_line_that_they_begin_in() -> None:
    text = '[\n{"a": 1},\n\n{"a":\n2}]\n'
    assert [line for line, _ in json_values(enumerate(io.StringIO(text), 1))] == [2, 4]
    assert list(json_values(enumerate(["1\n", "\n", "{broken\n", "2\n"], 1))) == [(1, 1), (3, None), (4, 2)]


def test_a_list_that_is_cut_off_or_torn_ends_in_none() -> None:
    assert list(values_in('[{"a": 1}, {"a"')) == [(1, {"a": 1}), (1, None)]
    assert list(values_in('[{"a": 1},\n{"a": 2}\n')) == [(1, {"a": 1}), (2, {"a": 2}), (2, None)]
    assert list(values_in("[]")) == []
