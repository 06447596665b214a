"""Which labels stand above a label: ``skos:broader`` of a thesaurus, or a table of label and broader label."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import product
from pathlib import Path

from plant_plugin.data.circles import refuse_circles
from plant_plugin.data.skos import FORMATS, SKOS, form_of, graph_of, named_in, notations_in
from plant_plugin.data.text import one_label, plain_name, tab_separated
from plant_plugin.errors import DataError

Broader = dict[str, list[str]]  # label -> the labels right above it, sorted


def broader_in(path: Path, labels: Collection[str]) -> Broader:
    """Read what is above each label of a file.

    Args:
        path: A thesaurus by its ending (:mod:`.skos`); else ``label TAB broader label`` lines, several for a label that
            has several.
        labels: Of the data, which say what signs of its concepts a thesaurus is read by.

    Raises:
        DataError: A file that cannot be read, in which a label stands above itself, or in which no label of the data
            has anything above it.
        MissingExtraError: A thesaurus without rdflib.
    """
    pairs = _thesaurus(path, labels) if plain_name(path).suffix in FORMATS else _table(path)
    broader: dict[str, set[str]] = {}
    for label, above in pairs:
        if label != above:
            broader.setdefault(label, set()).add(above)
    if broader.keys().isdisjoint(labels):
        fix = "write lines of a label, a TAB and the label above it, or give a thesaurus with skos:broader"
        raise DataError("no label of the data has a broader one", where=str(path), fix=fix)
    refuse_circles(broader, path)
    return {label: sorted(above) for label, above in broader.items()}


def _table(path: Path) -> Iterator[tuple[str, str]]:
    for where, cells in tab_separated(path):
        signs = [one_label(cell) for cell in cells]
        if len(signs) != 2 or not all(signs):
            raise DataError("not a label and a broader one", where=where, fix="write: label TAB broader label")
        yield signs[0], signs[1]


def _thesaurus(path: Path, labels: Collection[str]) -> Iterator[tuple[str, str]]:
    from rdflib import URIRef

    graph = graph_of(path)
    named, _ = named_in(graph, path)
    _, label_of = form_of(named, notations_in(graph), frozenset(labels), path)
    for link, step in (("broader", 1), ("narrower", -1)):
        for pair in graph.subject_objects(URIRef(SKOS + link)):
            below, above = map(str, pair[::step])
            yield from product(label_of.get(below, ()), label_of.get(above, [above]))
