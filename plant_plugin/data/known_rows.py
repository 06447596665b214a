"""The names of a table, kept while one command asks for them again and again: a training does so nine times."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from plant_plugin.data.name_rows import FORMAT as FORMAT
from plant_plugin.data.name_rows import table_rows
from plant_plugin.data.vocabularies import LabelName


def known_rows(path: Path, say: Callable[[str], object] | None = None) -> tuple[LabelName, ...]:
    """Return what :func:`.table_rows` yields; the last table is read once, unless its file changes."""
    status = path.stat() if path.is_file() else None
    rows, said = _read(path, status and (status.st_mtime_ns, status.st_size, status.st_ino))
    if say is not None:
        for line in said:
            say(line)
    return rows


@lru_cache(1)
def _read(path: Path, state: object) -> tuple[tuple[LabelName, ...], list[str]]:
    said: list[str] = []
    return tuple(table_rows(path, said.append)), said
