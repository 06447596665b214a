"""Labels, found by a part of their number or name."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from plant_plugin.model.trained import Names

MOST = 20  # that a search shows


class Codes:
    """The labels of a model with their names."""

    def __init__(self, labels: Sequence[str], names: Names) -> None:
        self.name = names
        self._plain = [(label, _plain(label), _plain(names(label) or "")) for label in labels]

    def search(self, query: str) -> list[str]:
        """Return labels that begin with a query, then those whose name holds all its words; accents do not count.

        Dots in numbers do not count either: ``e119`` finds ``E11.9``.
        """
        plain = _plain(query).strip()
        number, words = plain.replace(".", ""), plain.split()
        if not words:
            return []
        begin = [label for label, code, _ in self._plain if code.replace(".", "").startswith(number)]
        if len(begin) < MOST:
            known = set(begin)
            named = (label for label, _, name in self._plain if all(word in name for word in words))
            begin += [label for label in named if label not in known]
        return begin[:MOST]


def _plain(text: str) -> str:
    apart = unicodedata.normalize("NFKD", text.casefold())
    return "".join(character for character in apart if not unicodedata.combining(character))
