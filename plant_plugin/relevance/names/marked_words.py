"""How often marked words say what stands in the names of their labels: "unspecified" they never say."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from plant_plugin.relevance.names.name_index import NameIndex, stems_of
from plant_plugin.relevance.names.translation import Lexicon, Translated
from plant_plugin.relevance.phrases import words_of

KEPT = 200_000
NEEDED = 5.0  # spans as which a stem is taken to be said as often as others, before any is counted


@lru_cache(KEPT)
def words_in(text: str) -> list[str]:
    """Return the words of a short text; nobody may change them."""
    return words_of(text)[0]


@lru_cache(KEPT)
def stems_in(text: str) -> list[str]:
    """Return its stems, see :func:`stems_of`; nobody may change them."""
    return stems_of(text)


def said_stems(index: NameIndex, lexicon: Lexicon, spans: Sequence[tuple[str, str, str]]) -> dict[str, float]:
    """Return how often marked words say each stem of a name of theirs, beside other stems, at most 1."""
    translated = Translated(index.stems, lexicon)
    labelled = zip(index.of_label.tolist(), index.names, strict=True)
    row_of = {(index.labels[label], name): row for row, (label, name) in enumerate(labelled)}
    there, hits = np.zeros(len(index.stems)), np.zeros(len(index.stems))
    for words, name, label in spans:
        if (row := row_of.get((label, name))) is not None:
            stems = index.matrix.indices[index.matrix.indptr[row] : index.matrix.indptr[row + 1]]
            said = [translated[word][0] for word in stems_of(words)]
            there[stems] += 1
            hits[stems] += np.isin(stems, np.concatenate(said)) if said else 0
    if not hits.any():
        return {}
    usual = hits.sum() / there.sum()
    share = (hits + NEEDED * usual) / (there + NEEDED) / usual
    return {stem: float(share[column]) for stem, column in index.stems.items() if share[column] < 1}
