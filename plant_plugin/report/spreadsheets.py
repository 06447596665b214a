"""Cells of CSV that people open in a spreadsheet."""

from __future__ import annotations

FORMULA = tuple("=+-@\t\r＝＋－＠")  # a cell that begins so is computed, and may call a program or an address


def no_formula(cell: str) -> str:
    """Return a cell that no spreadsheet computes: with ' before it where it would be."""
    return f"'{cell}" if cell.startswith(FORMULA) else cell
