"""Scores as JSON lines: of PECOS' text2text (``{"data": [["label", 0.9]]}``) and of ``plant predict``."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from plant_plugin.data.text import one_label, parsed_json
from plant_plugin.errors import DataError
from plant_plugin.report.score_lines import Line, scored_lines

FIX = 'a line has to be like {"data": [["label", 0.9]]} or {"labels": [{"label": "label", "probability": 0.9}]}'


def documents_of(lines: Iterator[str], path: Path) -> Iterator[Line]:
    """Yield labels with scores of each document, of JSON where the first line is an object.

    Raises:
        DataError: A line is not of the format.
    """
    first = list[str]()
    for line in lines:
        first.append(line)
        break
    every = chain(first, lines)
    if not (first and first[0].startswith("{")):
        return scored_lines(every, path)
    return ((number, _pairs(line, f"{path}, line {number}")) for number, line in enumerate(every, 1))


def _pairs(line: str, where: str) -> list[tuple[str, str]]:
    content = parsed_json(line, where, FIX)
    entries = next((content[key] for key in ("data", "labels") if isinstance(content, dict) and key in content), None)
    pairs = list[tuple[str, str]]()
    for entry in entries if isinstance(entries, list) else [None]:
        label, score = None, None
        if isinstance(entry, dict):
            label, score = entry.get("label"), entry.get("probability")
        elif isinstance(entry, list) and len(entry) == 2:
            label, score = entry
        if not isinstance(label, str) or type(score) not in (int, float):
            raise DataError("no list of labels with scores", where=where, fix=FIX)
        pairs.append((one_label(label), str(score)))
    return pairs
