"""Names of labels, several of each: from files, or from the packages that hold the ICD's descriptions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cache, partial
from itertools import chain
from pathlib import Path

from plant_plugin.data.documents import LABEL_NAMES
from plant_plugin.data.known_rows import FORMAT, known_rows
from plant_plugin.data.listed_names import ListedNames
from plant_plugin.data.several import several
from plant_plugin.data.skos import FORMATS, skos_rows
from plant_plugin.data.text import one_label, packed, plain_name
from plant_plugin.data.vocabularies import VOCABULARIES, Names
from plant_plugin.data.vocabularies import LabelName as LabelName  # where its users look for it
from plant_plugin.errors import DataError

Say = Callable[[str], object]


def label_name_rows(sources: Sequence[str], labels: Collection[str] = (), say: Say | None = None) -> list[LabelName]:
    """Return all names of all labels that the sources have, in their order, none twice.

    Args:
        sources: ``icd9`` (diagnoses of ICD-9-CM), ``icd10`` (ICD-10-CM with inclusion terms), ``icd10pcs``, or files:
            tables (:mod:`.name_tables`) and thesauri (:mod:`.skos`).
        labels: Of the data; where a file knows its concepts by several signs, that is taken which most of them are.
        say: Told in one line how a file was read, where there is something to choose.

    Raises:
        DataError: A file cannot be read, or a line of it is not of the format.
        MissingExtraError: The package that a source needs is not installed.
    """
    return list(dict.fromkeys(chain.from_iterable(_rows(source, labels, say) for source in sources)))


def label_names(
    sources: Sequence[str], folder: Path | None = None, labels: Collection[str] = (), say: Say | None = None
) -> ListedNames:
    """Return a function from a label to its preferred name, or to None where no source knows it.

    Args:
        sources: Asked in this order; as of :func:`label_name_rows`, which says what is raised.
        folder: A model's; its ``label_names.tsv.gz`` is asked last, where there is one.
        labels: As of :func:`label_name_rows`, and ``say``.
        say: As there.
    """
    asked = [*several(sources, "sources")]
    if folder and (path := packed(folder / LABEL_NAMES)):
        asked.append(str(path))
    return ListedNames([_first(source, labels, say) for source in asked], partial(label_name_rows, asked, labels))


def _rows(source: str, labels: Collection[str], say: Say | None) -> Iterable[LabelName]:
    if source in VOCABULARIES:
        return _of_package(source)
    path = Path(source)
    if plain_name(path).suffix in FORMATS:
        return skos_rows(path, labels, say)
    rows, known = known_rows(path, say), frozenset(labels)
    if known.isdisjoint(label for label, _, _ in rows) and any(one_label(name) in known for _, name, _ in rows):
        raise DataError("the labels of the data stand in the second column", where=source, fix=FORMAT)
    return rows


@cache
def _of_package(source: str) -> tuple[LabelName, ...]:
    return tuple(VOCABULARIES[source]().rows())  # a training asks for them five times


def _first(source: str, labels: Collection[str], say: Say | None) -> Names:
    """Return the function from a label to the first of its names in a source."""
    if source in VOCABULARIES:
        return VOCABULARIES[source]().first
    first = {label: name for label, name, _ in reversed([*_rows(source, labels, say)])}  # the last to be set
    return first.get
