"""Which names of labels a training has: those that it is told, or a file beside its documents."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from plant_plugin.config.options import NO_NAMES
from plant_plugin.config.sections import Data, Settings
from plant_plugin.data.documents import LABEL_NAMES
from plant_plugin.data.label_names import LabelName, label_name_rows
from plant_plugin.data.skos import FORMATS
from plant_plugin.data.text import packed
from plant_plugin.data.vocabularies import VOCABULARIES
from plant_plugin.errors import DataError

BESIDE = (".tsv", ".csv", *FORMATS)  # endings of a file of names beside the documents


def names_source(settings: Settings) -> str | None:
    """Return where names of labels come from: what ``planted_scores.names`` says, or a file beside the documents."""
    beside = names_beside(settings)
    return settings.planted_scores.names or (str(beside) if beside else None)


def names_for_model(settings: Settings, labels: Collection[str]) -> list[LabelName]:
    """Return the names that go with a model: all of a file, of a code system those of the model's labels."""
    source = names_source(settings)
    if source == NO_NAMES:  # planted scores do without, people do not
        source = str(names_beside(settings) or "")
    rows, known = label_name_rows([source], labels) if source else [], frozenset(labels)
    return [row for row in rows if row.label in known] if source in VOCABULARIES else rows


def names_beside(settings: Data) -> Path | None:
    """Return the ``label_names.tsv``, or another kind of file of this name, beside the training file; None: none."""
    training_file = settings.training_file
    if not training_file or not Path(training_file).is_file():  # e.g. demo:train
        return None
    return names_in(Path(training_file).parent)


def names_in(folder: Path) -> Path | None:
    """Return the file of names in a folder; a ``DataError`` where there are several."""
    plain = folder / LABEL_NAMES
    paths = [path for ending in BESIDE if (path := packed(plain.with_suffix(ending)))]
    if len(paths) > 1:
        what = f"{len(paths)} files of names: {', '.join(path.name for path in paths)}"
        raise DataError(what, where=str(folder), fix="leave one there")
    return paths[0] if paths else None
