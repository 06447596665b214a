"""A text as candidates are looked for in it, and what is known of the words of its spans.

Shapes: W words, S spans, M names, D numbers of a vector.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from plant_plugin.data.text import Spans
from plant_plugin.relevance.mutual_information import Floats, Small
from plant_plugin.relevance.names.name_index import Found
from plant_plugin.relevance.names.nearest import Block


def values_of_spans(spans: npt.NDArray[np.int64], spoken: Floats, marked: Floats) -> Floats:
    """Return of spans (S, 2) of words highest and lowest ``spoken``, mean and lowest ``marked``, (S, 4)."""
    spoken, marked = (np.append(values, np.float32(0)) for values in (spoken, marked))  # a span may end at the last
    edges, length = spans.ravel(), (spans[:, 1] - spans[:, 0]).astype(np.float32)
    highest, lowest = (of.reduceat(spoken, edges)[::2] for of in (np.maximum, np.minimum))
    mean = np.add.reduceat(marked, edges)[::2] / length
    return np.stack([highest, lowest, mean, np.minimum.reduceat(marked, edges)[::2]], axis=1)


@dataclass(frozen=True, eq=False, repr=False)
class ReadText:
    """A text as candidates are looked for in it."""

    places: Spans  # (W, 2) of its words, in characters
    found: Found
    marked: Floats  # (W,) probability of each word that a coder would mark it
    spoken: Floats  # (W,) the highest p of the phrases that hold it
    spans: npt.NDArray[np.int64]  # (S, 2) of words
    span_scores: Floats  # (S,)
    vectors: Floats  # (S, D)
    _nearest: dict[int, tuple[Floats, Small]] = field(default_factory=dict)

    def nearest(self, block: Block) -> tuple[Floats, Small]:
        """Return what :meth:`.Block.nearest` finds for the spans, which is looked for once."""
        if id(block) not in self._nearest:
            self._nearest[id(block)] = block.nearest(self.vectors)
        return self._nearest[id(block)]

    @cached_property
    def of_spans(self) -> Floats:
        """See :func:`values_of_spans`, (S, 4)."""
        return values_of_spans(self.spans, self.spoken, self.marked)
