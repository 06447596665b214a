"""Cells and rows of a comparison as text."""

from __future__ import annotations

from plant_plugin.report.compare import Cell, Table
from plant_plugin.report.formats import MARKDOWN_BOLD, as_csv, latex, markdown_rows, number, written


def test_numbers_are_percent_with_their_marks() -> None:
    assert number(Cell(None)) == "–"
    assert number(Cell(0.5, 0.0123)) == "50.0 ± 1.2"
    assert written(Cell(0.5, best=True), MARKDOWN_BOLD) == "**50.0**"
    assert written(Cell(0.5, obstacle="other labels"), MARKDOWN_BOLD) == "50.0†"


def test_a_bar_in_a_markdown_cell_is_escaped() -> None:
    assert markdown_rows(["system", "P@1"], [["a|b", "1"]]) == ["| system | P@1 |", "| --- | ---: |", "| a\\|b | 1 |"]


def test_csv_and_latex_hold_the_rows() -> None:
    cells = {("a_b", "P@1"): Cell(0.5, 0.01, best=True), ("=c", "P@1"): Cell(None)}
    table = Table("demo, test split", "=c", 10, ["a_b", "=c"], {"a_b": 2, "=c": 1}, ["P@1"], cells)
    assert as_csv(table).splitlines() == ["system,seeds,P@1", "a_b,2,50.0 ± 1.0", "'=c,1,–"]
    written_table = latex(table)
    assert r"a\_b & 2 & \textbf{50.0 $\pm$ 1.0} \\" in written_table
    assert r"\begin{tabular}{lll}" in written_table
    assert r"\toprule" in written_table
