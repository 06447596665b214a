"""Cells that no spreadsheet computes."""

from __future__ import annotations

import pytest

from plant_plugin.report.spreadsheets import no_formula


@pytest.mark.parametrize(
    "cell", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "＝1+1", '=HYPERLINK("http://a.example")']
)
def test_formulas_are_words(cell: str) -> None:
    assert no_formula(cell) == f"'{cell}"


@pytest.mark.parametrize("cell", ["", "L1", "E11.9", "a=b", "'=1", "1-2"])
def test_other_cells_stay(cell: str) -> None:
    assert no_formula(cell) == cell
