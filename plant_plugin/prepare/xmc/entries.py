"""JSON lines of the extreme classification repository: documents, and labels."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from plant_plugin.data.text import parsed_json, text_lines
from plant_plugin.errors import DataError


def text_of(entry: dict[str, object], key: str, where: str) -> str:
    """Return the text of a key, empty where there is none; a ``DataError`` where it is something else."""
    text = entry.get(key)
    if not isinstance(text, str | None):
        raise DataError(f"the {key} is no text", where=where, fix="download the data set again")
    return text or ""


def objects(path: Path, encoding: str) -> Iterator[tuple[int, dict[str, object]]]:
    """Yield the number and the object of each line; a ``DataError`` where there is none."""
    with text_lines(path, encoding=encoding) as stream:
        for line, text in enumerate(stream, 1):
            where, fix = f"{path}, line {line}", "each line has to be one JSON object; the file may be cut off here"
            entry = parsed_json(text, where, fix)
            if not isinstance(entry, dict):
                raise DataError("broken JSON, or no object", where=where, fix=fix)
            yield line, entry
