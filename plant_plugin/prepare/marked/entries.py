"""What a tool exports for each document: whether it is of this tool, or of another one, which is then named."""

from __future__ import annotations

from collections.abc import Collection

from plant_plugin.data.foreign_files import foreign_object
from plant_plugin.errors import DataError


def with_text(row: object, where: str, label_keys: Collection[str]) -> tuple[dict[str, object], str]:
    """Return a row of doccano and its text.

    Raises:
        DataError: It has none, or is of another program, such as Prodigy, whose rejected labels would count.
    """
    text = row.get("text", row.get("data")) if isinstance(row, dict) else None
    if not isinstance(row, dict) or not isinstance(text, str):
        error = foreign_object(row)
        if error is not None and "doccano" not in error.what:
            raise DataError(error.what, where=where, fix=error.fix)
        fix = 'each line needs a "text" (or "data"): export as JSONL'
        raise DataError("no text", where=where, fix=fix)
    error = foreign_object(row) if "_input_hash" in row or row.keys().isdisjoint(label_keys) else None
    if error is not None and "doccano" not in error.what:
        raise DataError(error.what, where=where, fix=error.fix)
    return row, text


def annotated_task(task: object, where: str, fix: str) -> dict[str, object]:
    """Return a task of Label Studio, also of versions before 1.0, which say ``completions``.

    Raises:
        DataError: It has no annotations.
    """
    if isinstance(task, dict):
        if "annotations" not in task and isinstance(task.get("completions"), list):
            task = {("annotations" if key == "completions" else key): value for key, value in task.items()}
        if task.get("predictions") and not task.get("annotations"):
            what, fix = "predictions of a model, and no annotations", "annotate and submit the task, or take it out"
            raise DataError(what, where=where, fix=fix)
        if isinstance(task.get("annotations"), list):
            return task
    raise DataError("no annotations", where=where, fix=fix)
