"""Exports of tools that write a file for each split, or for each annotator."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from plant_plugin.errors import DataError
from plant_plugin.prepare.marked.annotations import Annotated, Annotations, Choices
from plant_plugin.prepare.marked.annotators import files_of_annotators, joined, numbered
from plant_plugin.prepare.marked.marked import Provenance, write_sets

Reader = Callable[[Path, Annotations], Iterator[Annotated]]


def prepare_export(
    raw: Path,
    out: Path,
    ending: str,
    read: Reader,
    content: tuple[str, Mapping[str, object]],
    dry_run: bool,
    choices: Choices,
) -> Provenance:
    """Write what a tool exports to a file for each split, or each annotator; ``content``: command and options."""
    files, annotations = files_of_annotators(raw, ending), Annotations(choices)
    documents: dict[str, list[Annotated]] = {}
    for split, people in files.items():
        by = {who: numbered(read(path, annotations)) for who, path in people.items()}
        documents[split] = joined(by, annotations, str(raw) if len(by) > 1 else "")
    sets = annotations.marked(documents)
    sources = [path for people in files.values() for path in people.values()]
    command, options = content
    said = {"command": command, "options": {**options, **asdict(choices)}, "counts": dict(annotations.counts)}
    return write_sets(out, {"": sets}, sources, said, dry_run)


def count_lists(row: Mapping[str, object], read: tuple[str, ...], annotations: Annotations) -> None:
    """Count what a row lists under other keys than those that are read."""
    for key, value in row.items():
        if isinstance(value, list) and key not in read:
            annotations.not_read(key.lower(), len(value))


def listed(value: object, where: str, fix: str) -> list[Any]:
    """Return a list as it is, a text alone as one of it, nothing as an empty one."""
    if value is None or isinstance(value, list):
        return value or []
    if isinstance(value, str) and not (value.lstrip()[:1] == "[" and value.rstrip()[-1:] == "]"):
        return [value]  # and no list that is written as a text
    raise DataError("labels that are no list", where=where, fix=fix)
