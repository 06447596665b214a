"""Marks of tokens: the labels that phrases speak for at the places where they stand."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import scipy.sparse as sp

from plant_plugin.data.batches import TokenMarks
from plant_plugin.data.text import Spans
from plant_plugin.data.token_arrays import TokenArrays
from plant_plugin.relevance.phrases import Phrases, touched

Places = Callable[[str], Spans]

LEAST = 0.15  # a phrase of lower p marks no token: most words are part of some phrase


def phrase_marks(
    phrases: Phrases,
    texts: Sequence[str],
    arrays: TokenArrays,
    places: Places,
    strength: float = 1.0,
    left_out: Sequence[int] | None = None,
) -> TokenMarks:
    """Mark the tokens that phrases stand on with the highest p of each label, where it is above ``LEAST``.

    ``arrays`` are the tokens of the texts, ``places`` says where those of a text begin and end; p is multiplied with
    ``strength``; ``left_out`` is as in :meth:`.Phrases.matches`, for each text.
    """
    rows, columns, values = [], [], []
    for document, text in enumerate(texts):
        # special tokens stand nowhere, and what is searched has to be in order
        tokens = [(token, place) for token, place in enumerate(places(text)) if place[0] < place[1]]
        standing = [place for _, place in tokens]
        highest: dict[tuple[int, int], float] = {}
        for match in phrases.matches(text, None if left_out is None else left_out[document]):
            p = -np.expm1(-match.shares)
            sure = p > LEAST
            strengths = np.float32(strength) * p[sure]
            on = {tokens[place][0] for place in touched(standing, [span for part in match.spans for span in part])}
            for label, value in zip(match.labels[sure].tolist(), strengths.tolist(), strict=True):
                for token in on:
                    highest[token, label] = max(value, highest.get((token, label), 0.0))
        rows += [int(arrays.offsets[document]) + token for token, _ in highest]
        columns += [label for _, label in highest]
        values += list(highest.values())
    parts = np.array(values, dtype=np.float32), (np.array(rows, dtype=np.int64), np.array(columns, dtype=np.int64))
    matrix = sp.csr_array(parts, shape=(int(arrays.offsets[-1]), phrases.num_labels))
    matrix.sort_indices()
    return TokenMarks(matrix, arrays.offsets)
