"""A text as candidates are looked for in it.

Shapes: W words, S spans, M names, D numbers of a vector.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt
import torch

from plant_plugin.data.text import Spans
from plant_plugin.relevance.mutual_information import Floats
from plant_plugin.relevance.names.index import Found


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
    _nearness: dict[int, torch.Tensor] = field(default_factory=dict)

    def nearness(self, vectors: torch.Tensor) -> torch.Tensor:
        """Return the cosine of each span and each name of a block, (S, M), computed once."""
        key = id(vectors)
        if key not in self._nearness:
            self._nearness[key] = torch.from_numpy(self.vectors) @ vectors.T
        return self._nearness[key]

    @cached_property
    def of_spans(self) -> Floats:
        """Return of each span highest and lowest p of phrases, and mean and lowest of what is marked, (S, 4)."""
        inside = [slice(start, end) for start, end in self.spans.tolist()]
        return np.array([
            (self.spoken[part].max(), self.spoken[part].min(), self.marked[part].mean(), self.marked[part].min())
            for part in inside
        ], dtype=np.float32)  # fmt: skip
