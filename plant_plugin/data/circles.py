"""A hierarchy in which a label stands above itself is none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from plant_plugin.errors import DataError


def refuse_circles(above: Mapping[str, Iterable[str]], path: Path) -> None:
    """Refuse labels, each with those right above it, where one stands above itself: a DataError that shows the way."""
    try:
        TopologicalSorter(above).prepare()
    except CycleError as error:
        way = " above ".join(error.args[1])
        raise DataError(f"labels stand above themselves: {way}", where=str(path), fix="take one of these out") from None
