"""Cells and rows of a comparison as text."""

from __future__ import annotations

from plant_plugin.report.compare import Cell
from plant_plugin.report.formats import MARKDOWN_BOLD, markdown_rows, number, written


def test_numbers_are_percent_with_their_marks() -> None:
    assert number(Cell(None)) == "–"
    assert number(Cell(0.5, 0.0123)) == "50.0 ± 1.2"
    assert written(Cell(0.5, best=True), MARKDOWN_BOLD) == "**50.0**"
    assert written(Cell(0.5, obstacle="other labels"), MARKDOWN_BOLD) == "50.0†"


def test_a_bar_in_a_markdown_cell_is_escaped() -> None:
    assert markdown_rows(["system", "P@1"], [["a|b", "1"]]) == ["| system | P@1 |", "| --- | ---: |", "| a\\|b | 1 |"]
