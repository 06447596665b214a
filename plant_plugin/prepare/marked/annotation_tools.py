"""Exports of Label Studio (JSON) and doccano (JSONL), in which words of a text carry labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from plant_plugin.data.text import parsed_json, text_lines
from plant_plugin.errors import DataError
from plant_plugin.prepare.marked.marked import Marked, covers, found_splits, write_sets

DOCCANO_LABELS = ("label", "labels", "entities", "cats")
TASKS_FIX = "export as JSON, not JSON-MIN: a list of tasks with data and annotations"

Reader = Callable[[Path, Counter[str]], Iterator[Marked]]


def prepare_doccano(raw: Path, out: Path, dry_run: bool = False) -> dict[str, Any]:
    """Write doccano's JSONL, a document a line, as ``train.txt`` with evidence.

    ``text`` (or ``data``) beside ``label``, ``labels``, ``entities`` or ``cats``: ``[start, end, label]``, or
    ``{"label":, "start_offset":, "end_offset":}``, or a label of the whole document.

    Args:
        raw: A file, or a folder with ``train.jsonl``, ``valid.jsonl`` (or ``dev``) and ``test.jsonl``.
        out: The folder to write.
        dry_run: Read everything, write nothing.

    Raises:
        DataError: A file is missing, a line is not of the format, or a span is outside its text.
        PlantError: The folder cannot be written.
    """
    return _prepare(raw, out, ".jsonl", _doccano, {"command": "prepare doccano", "options": {}}, dry_run)


def prepare_labelstudio(
    raw: Path, out: Path, text_key: str = "text", controls: tuple[str, ...] = (), dry_run: bool = False
) -> dict[str, Any]:
    """Write Label Studio's JSON as ``train.txt`` with evidence.

    Spans' ``labels``, and ``choices`` and ``taxonomy`` of a span or of the whole document, are labels; of a taxonomy
    the deepest entry. Where a task is annotated several times, the annotations marked as ground truth count, else all
    that were not skipped.

    Args:
        raw: A file, or a folder with ``train.json``, ``valid.json`` (or ``dev``) and ``test.json``.
        out: The folder to write.
        text_key: Where a task's ``data`` has the text.
        controls: Names (``from_name``) of the controls whose labels count; all if empty, others are counted.
        dry_run: Read everything, write nothing.

    Raises:
        DataError: A file is missing or not such an export, or a span does not hold the words that it says.
        PlantError: The folder cannot be written.
    """

    def read(path: Path, counts: Counter[str]) -> Iterator[Marked]:
        return _label_studio(path, text_key, controls, counts)

    content = {"command": "prepare labelstudio", "options": {"text_key": text_key, "controls": list(controls)}}
    return _prepare(raw, out, ".json", read, content, dry_run)


def _prepare(raw: Path, out: Path, ending: str, read: Reader, content: dict[str, Any], dry_run: bool) -> dict[str, Any]:
    files, counts = found_splits(raw, ending), Counter[str]()
    sets = {split: list(read(path, counts)) for split, path in files.items()}
    return write_sets(out, {"": sets}, files.values(), {**content, "counts": dict(counts)}, dry_run)


def _doccano(path: Path, counts: Counter[str]) -> Iterator[Marked]:
    with text_lines(path) as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            where = f"{path}, line {number}"
            row = parsed_json(line, where)
            text = row.get("text", row.get("data")) if isinstance(row, dict) else None
            if not isinstance(text, str):
                raise DataError("no text", where=where, fix='each line needs a "text" (or "data"): export as JSONL')
            document = Marked(text)
            for mark in (mark for key in DOCCANO_LABELS for mark in _listed(row.get(key), where, "export as JSONL")):
                if isinstance(mark, str):
                    document.label(mark, where)
                    continue
                if isinstance(mark, dict):
                    mark = [mark.get(key) for key in ("start_offset", "end_offset", "label")]
                if not (isinstance(mark, list) and [type(part) for part in mark] == [int, int, str]):
                    raise DataError("a label that is not [start, end, label]", where=where, fix="export as JSONL")
                document.mark(mark[2], [(mark[0], mark[1])], where)
            yield document


def _label_studio(path: Path, text_key: str, controls: tuple[str, ...], counts: Counter[str]) -> Iterator[Marked]:
    with text_lines(path) as lines:
        tasks = parsed_json("".join(lines), str(path))
    if not isinstance(tasks, list):
        raise DataError("not a list of tasks", where=str(path), fix=TASKS_FIX)
    for number, task in enumerate(tasks, 1):
        where = f"{path}, task {number}"
        if not isinstance(task, dict) or not isinstance(task.get("annotations"), list):
            raise DataError("no annotations", where=where, fix=TASKS_FIX)
        text = _object(task.get("data"), where).get(text_key)
        if not isinstance(text, str):
            what, fix = f"data has no text called {text_key}", "name the text with --text_key"
            raise DataError(what, where=where, fix=fix)
        document = Marked(text)
        annotations = [_object(annotation, where) for annotation in task["annotations"]]
        done = [annotation for annotation in annotations if not annotation.get("was_cancelled")]
        for annotation in [truth for truth in done if truth.get("ground_truth")] or done:
            for result in _listed(annotation.get("result"), where, TASKS_FIX):
                if controls and _object(result, where).get("from_name") not in controls:
                    counts["results_of_other_controls"] += 1
                else:
                    _add_result(document, _object(_object(result, where).get("value"), where), where)
        yield document


def _add_result(document: Marked, value: dict[str, object], where: str) -> None:
    """Labels of a span, or of the whole document where the result has no place."""
    labels = [label for key in ("labels", "choices") for label in _listed(value.get(key), where, TASKS_FIX)]
    paths = [_listed(path, where, TASKS_FIX) for path in _listed(value.get("taxonomy"), where, TASKS_FIX)]
    labels += [path[-1] for path in paths if path]
    if not all(isinstance(label, str) for label in labels):
        raise DataError("a label that is no text", where=where, fix=TASKS_FIX)
    if "start" not in value:
        for label in labels:
            document.label(label, where)
        return
    if not labels:  # of a control without labels, such as a comment on a span
        return
    start, end = value["start"], value.get("end")
    if not (type(start) is int and type(end) is int):
        fix = "label in a <Text> tag; places in <HyperText> are paths through its HTML"
        raise DataError("a span whose places are no numbers of characters", where=where, fix=fix)
    said = value.get("text")
    words = said if isinstance(said, str) else None
    if words is not None:
        words = words.replace("\\n", " ")  # some versions write a line break so
        if end > len(document.text) or not covers(document.text, [(start, end)], words):
            # Older versions count as JavaScript does: a character beyond U+FFFF, such as an emoji, is two.
            start, end = _from_utf16(document.text, start), _from_utf16(document.text, end)
    for label in labels:
        document.mark(label, [(start, end)], where, words)


def _listed(value: object, where: str, fix: str) -> list[Any]:
    """A list as it is, a text alone as one of it, nothing as an empty one."""
    if value is None or isinstance(value, list):
        return value or []
    if isinstance(value, str):
        return [value]
    raise DataError("labels that are no list", where=where, fix=fix)


def _object(value: object, where: str) -> dict[str, object]:
    if not isinstance(value, dict | None):
        raise DataError("not a task with data and annotations", where=where, fix=TASKS_FIX)
    return value or {}


def _from_utf16(text: str, place: int) -> int:
    return len(text.encode("utf-16-le")[: 2 * max(place, 0)].decode("utf-16-le", "ignore"))
