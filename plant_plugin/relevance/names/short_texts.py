"""Words and stems of names and marked stretches, which are read again and again while names are learned."""

from __future__ import annotations

from functools import lru_cache

from plant_plugin.relevance.names.index import stems_of
from plant_plugin.relevance.phrases import words_of

KEPT = 200_000


@lru_cache(KEPT)
def words_in(text: str) -> list[str]:
    """Return the words of a short text; nobody may change them."""
    return words_of(text)[0]


@lru_cache(KEPT)
def stems_in(text: str) -> list[str]:
    """Return its stems, see :func:`stems_of`; nobody may change them."""
    return stems_of(text)
