"""doccano's exports (JSONL, JSON), in which words of a text, or the whole, carry labels."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from plant_plugin.data.row_formats import json_values
from plant_plugin.data.text import text_lines
from plant_plugin.errors import DataError
from plant_plugin.prepare.marked.annotation_tools import count_lists, listed, prepare_export
from plant_plugin.prepare.marked.annotations import EVERYTHING, Annotated, Annotation, Annotations, Annotator, Choices
from plant_plugin.prepare.marked.codes import Code
from plant_plugin.prepare.marked.entries import with_text
from plant_plugin.prepare.marked.marked import Provenance

DOCCANO_LABELS = ("label", "labels", "entities", "cats", "annotations")
DOCCANO_FIX = "export as JSONL"


def prepare_doccano(raw: Path, out: Path, dry_run: bool = False, choices: Choices = EVERYTHING) -> Provenance:
    """Write doccano's JSONL, a document a line, or JSON as ``train.txt`` with evidence.

    ``text`` (or ``data``) beside ``label``, ``labels``, ``entities`` or ``cats``: ``[start, end, label]``, or
    ``{"label":, "start_offset":, "end_offset":}``, or a label of the whole document.

    Args:
        raw: A file, or a folder with ``train.jsonl``, ``valid.jsonl`` (or ``dev``) and ``test.jsonl``.
        out: The folder to write.
        dry_run: Read everything, write nothing.
        choices: What of the annotations counts.

    Raises:
        DataError: A file is missing, a line is not of the format, or a span is outside its text.
        PlantError: The folder cannot be written.
    """
    lines = not raw.is_dir() or any(raw.rglob("*.jsonl"))
    return prepare_export(raw, out, ".jsonl" if lines else ".json", _doccano, ("prepare doccano", {}), dry_run, choices)


def _doccano(path: Path, annotations: Annotations) -> Iterator[Annotated]:
    last, row, number = 0, None, 0

    def numbered(lines: Iterator[str]) -> Iterator[tuple[int, str]]:
        nonlocal last
        for at, line in enumerate(lines, 1):
            last = at if line.strip() else last
            yield at, line

    with text_lines(path) as lines:
        for number, row in json_values(numbered(lines)):
            where = f"{path}, line {number}"
            with annotations.tolerated("documents"):
                if row is None:
                    raise DataError("broken JSON, or a key twice", where=where, fix="export as JSONL; is it cut off?")
                row, text = with_text(row, where, DOCCANO_LABELS)
                count_lists(row, DOCCANO_LABELS, annotations)
                by: dict[str, list[Annotation]] = {}
                for mark in (mark for key in DOCCANO_LABELS for mark in listed(row.get(key), where, DOCCANO_FIX)):
                    with annotations.tolerated("marks"):
                        user = str(mark.get("user", "")) if isinstance(mark, dict) else ""
                        by.setdefault(user, []).append(_doccano_mark(mark, where))
                annotators = [Annotator(marks, frozenset({user} - {""})) for user, marks in by.items()]
                yield Annotated(text, where, annotators or [Annotator([])])
        if row is None and last > number:  # of a list; lines are read one by one
            what = "broken JSON, or a key twice, and all after it cannot be read"
            raise DataError(what, where=f"{path}, line {number}", fix="export it again; the file may be cut off")


def _doccano_mark(mark: object, where: str) -> Annotation:
    if isinstance(mark, dict):
        start, end, label = (mark.get(key) for key in ("start_offset", "end_offset", "label"))
        mark = label if start is None and end is None else [start, end, label]
    if isinstance(mark, str):
        return Annotation((Code(mark),), where)
    if not (isinstance(mark, list) and [type(part) for part in mark] == [int, int, str]):
        raise DataError("a label that is not [start, end, label]", where=where, fix=DOCCANO_FIX)
    start, end, label = mark
    return Annotation((Code(label),), where, [(start, end)], region=(start, end))
