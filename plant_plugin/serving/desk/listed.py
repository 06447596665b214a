"""The codes that a desk knows: the labels of its model, and all codes that the names list.

Names list a whole code system. They may write its codes otherwise than the data do: ``R10.2``, ``r10.2``, ``R102``. The
way is taken that suits most of the data's labels.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Collection, Sequence
from functools import cached_property

from plant_plugin.data.listed_names import ListedNames
from plant_plugin.errors import DataError
from plant_plugin.model.trained import Names

Check = Callable[[Collection[str]], Collection[str]]
MOST = 20  # that a search shows
EXAMPLES = 3  # of labels that an error names
WRITINGS: tuple[Callable[[str], str], ...] = (
    str,
    str.lower,
    lambda code: code.replace(".", ""),
    lambda code: code.replace(".", "").lower(),
)


def listing(labels: Collection[str], names: Names) -> list[tuple[str, str]]:
    """Return all codes that names list, written as the labels are, each with one of its names."""
    rows = names.rows() if isinstance(names, ListedNames) else []
    writing = max(WRITINGS, key=lambda writing: sum(writing(row.label) in labels for row in rows))
    return [(writing(row.label), row.name) for row in rows]


def listed(labels: Sequence[str], names: Names) -> dict[str, list[str]]:
    """Return every label that is known, and its names: first the labels that are given, then those that names list."""
    known = {label: [names(label) or ""] for label in labels}
    for label, name in listing(known.keys(), names):
        known.setdefault(label, []).append(name)
    return known


def unchecked(labels: Collection[str]) -> Collection[str]:
    """Return no label: nothing says which are known."""
    return ()


def check_labels(names: ListedNames, *, take: bool) -> Check:
    """Return what says which of the labels of coded documents no name is known for; ``take``: they are taken.

    Raises:
        DataError: (what is returned) There are such labels, and they are not to be taken.
    """

    def check(labels: Collection[str]) -> Collection[str]:
        unknown = sorted({*labels}.difference(label for label, _ in listing(labels, names)))
        if unknown and not take:
            shown = ", ".join(repr(label[:80]) for label in unknown[:EXAMPLES])
            what = (
                f"{len(unknown):,} of {len(labels):,} codes have no name ({shown}{', …' * (len(unknown) > EXAMPLES)})"
            )
            raise DataError(what, where="--names", fix="correct them, or take them all the same with --take-unknown")
        return unknown

    return check


class Codes:
    """The labels that a desk knows, with their names."""

    def __init__(self, labels: Sequence[str], names: Names) -> None:
        self._labels, self._names = labels, names

    @cached_property
    def _listed(self) -> dict[str, list[str]]:
        return listed(self._labels, self._names)

    @cached_property
    def _plain(self) -> dict[str, tuple[str, str]]:
        """Each label with its number, and all its names, as they are compared."""
        return {label: (_number(label), _plain("\n".join(names))) for label, names in self._listed.items()}

    def knows(self, label: str) -> bool:
        """Tell whether a label is one of the model's or has a name."""
        return label in self._listed

    def name(self, label: str) -> str | None:
        """Return what a label is called; None where no source says it."""
        return next(filter(None, self._listed.get(label, ())), None)

    def search(self, query: str) -> list[str]:
        """Return labels that begin with a query, then those whose names have all its words; accents do not count.

        Dots in numbers do not count either: ``e119`` finds ``E11.9``. The label that is the query comes first.
        """
        number, words = _number(query.strip()), _plain(query).split()
        if not words:
            return []
        begin = [label for label, (code, _) in self._plain.items() if code.startswith(number)]
        begin.sort(key=lambda label: self._plain[label][0] != number)
        if len(begin) < MOST:
            known = set(begin)
            named = (label for label, (_, name) in self._plain.items() if all(word in name for word in words))
            begin += [label for label in named if label not in known]
        return begin[:MOST]


def _number(label: str) -> str:
    return _plain(label).replace(".", "")


def _plain(text: str) -> str:
    apart = unicodedata.normalize("NFKD", text.casefold())
    return "".join(character for character in apart if not unicodedata.combining(character))
