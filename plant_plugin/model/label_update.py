"""New names for a model that knows labels by them: a code system's yearly update needs no new training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from plant_plugin.data.label_names import LabelName, Say, label_name_rows
from plant_plugin.errors import CheckpointError, DataError
from plant_plugin.model.folder import read_labels
from plant_plugin.model.manifest import renew, verify
from plant_plugin.relevance.names.open_labels import NAMES_FILE, read_open

FIX = "train with label_set: named, see docs/open_labels.md"


@dataclass(frozen=True)
class Changes:
    """What other names change: labels, in alphabetical order.

    Attributes:
        new: That had no name, so that they could not be said.
        renamed: Whose names are others now.
        gone: That have no name any more, and that no training document has: they are not said any more.
        kept: The same of labels that a training document has: they are said as before.
    """

    new: list[str]
    renamed: list[str]
    gone: list[str]
    kept: list[str]


def update_names(folder: Path, sources: Sequence[str], say: Say | None = None, *, write: bool = True) -> Changes:
    """Give the model of a folder other names, unless ``write`` is false, and return what changes.

    Nothing is learned anew: lexicon, towers, detector and trees read the new names as they did the old ones.

    Raises:
        CheckpointError: The folder is no model, or torn, or one that knows no labels by their names.
        DataError: A source cannot be read, or holds no name.
    """
    verify(folder)
    labels = read_labels(folder)[0]
    before = read_open(folder, labels, None)
    if before is None:
        what = "the model knows only the labels of its training"
        raise CheckpointError(what, where=str(folder), fix=FIX)
    rows = label_name_rows(sources, labels, say)
    if not rows:
        raise DataError("no names are there", where=", ".join(sources), fix="each line has to be: label TAB name")
    old, new = (_by_label(names) for names in (before.rows, rows))
    seen = {label for label, there in zip(labels, before.seen.tolist(), strict=True) if there}
    gone = old.keys() - new.keys()
    if write:
        before.with_names(rows).save(folder)
        renew(folder, NAMES_FILE)
    return Changes(
        sorted(new.keys() - old.keys()),
        sorted(label for label in old.keys() & new.keys() if old[label] != new[label]),
        sorted(gone - seen),
        sorted(gone & seen),
    )


def _by_label(rows: Sequence[LabelName]) -> dict[str, set[tuple[str, str]]]:
    names: dict[str, set[tuple[str, str]]] = {}
    for row in rows:
        names.setdefault(row.label, set()).add((row.name, row.language))
    return names
