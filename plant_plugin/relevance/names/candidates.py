"""Labels that a text may have by their names, and what is counted of each: trees read nothing else.

Two things propose: names whose words stand near each other, and names that are near a likely span by the towers.

Shapes: W words of a text, S spans, M names, N candidates, F counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from plant_plugin.data.text import Spans
from plant_plugin.relevance.mutual_information import Floats, Small
from plant_plugin.relevance.names.letter_towers import Towers
from plant_plugin.relevance.names.name_index import WINDOW, NameIndex, first_of_each, stem_of
from plant_plugin.relevance.names.nearest import MOST, NONE, Block
from plant_plugin.relevance.names.rivals import beside, first_different
from plant_plugin.relevance.names.span_detector import SpanDetector, spans_of
from plant_plugin.relevance.names.text_with_spans import ReadText
from plant_plugin.relevance.names.translation import Lexicon, Translated

Truths = npt.NDArray[np.bool_]

BY_COVER, BY_SPAN = 80, 10  # labels that the words of a text propose, and each of its spans
SURE_SPAN, UNSURE = 0.04, -8.0  # what a unit of a span's score counts beside nearness, and the lowest that counts
COUNTS = 32


class Candidates(NamedTuple):
    """Candidates of a text: each array is (N,), ``counts`` (N, F)."""

    labels: Small  # places in the index's labels
    counts: Floats
    names: Small  # the name that the text holds most of, or that is nearest
    spans: npt.NDArray[np.int64]  # (N, 2) the words that answer to it


@dataclass(eq=False, repr=False)
class Proposer:
    """Finds candidates with what was learned of names; labels are places in the index's labels."""

    index: NameIndex
    lexicon: Lexicon
    towers: Towers
    detector: SpanDetector | None = None  # None: nothing was marked, spans are windows in which names stand

    @cached_property
    def translated(self) -> Translated:
        """Return what each word of a text may be."""
        return Translated(self.index.stems, self.lexicon)

    @cached_property
    def vectors(self) -> Floats:
        """Return the towers' vectors of the names, (M, D)."""
        return self.towers.vectors(self.index.words)

    @cached_property
    def starts(self) -> npt.NDArray[np.int64]:
        """Return where the names of each label begin, and their number at the end."""
        return np.searchsorted(self.index.of_label, np.arange(len(self.index.labels) + 1))

    def read(
        self, words: Sequence[str], places: Spans, spoken: Floats | None = None, marked: Floats | None = None
    ) -> ReadText:
        """Read the words of a text once for all questions; ``marked`` (W,) where another detector says it."""
        found = self.index.find(list(map(stem_of, words)), self.translated)
        if marked is None:
            marked = np.zeros(len(words), np.float32) if self.detector is None else self.detector.probabilities(words)
        spans, scores = spans_of(marked)
        vectors = self.towers.vectors([words[start:end] for start, end in spans])
        spoken = np.zeros(len(words), np.float32) if spoken is None else spoken
        return ReadText(places, found, marked, spoken, spans, scores, vectors)

    def block(self, labels: Truths) -> Block:
        """Return the names of some labels (a mask), for :meth:`candidates`."""
        names = np.flatnonzero(labels[self.index.of_label]).astype(np.int32)
        return Block.of(labels, names, self.vectors[names])

    def candidates(self, text: ReadText, block: Block, others: Block, more: Sequence[int] = ()) -> Candidates:
        """Return the candidates among the labels of a ``block``, beside ``others``, and ``more`` of the others."""
        index, found = self.index, text.found
        near, names = text.nearest(block)
        if len(more):
            added = self._names_of(np.array(more))[0]
            near = np.concatenate([near, text.vectors @ self.vectors[added].T], axis=1)
            names = np.concatenate([names, np.broadcast_to(added.astype(np.int32), (len(names), len(added)))], axis=1)
            order = np.argsort(-near, axis=1, kind="stable")[:, :MOST]
            near, names = np.take_along_axis(near, order, axis=1), np.take_along_axis(names, order, axis=1)
        of_found = index.of_label[found.names]
        # the best name of each label that the words hold: first by cover, then by what that tells
        value = found.cover + np.float32(1e-4) * index.total[found.names] * found.cover
        best = first_of_each(of_found, value)
        place_of = np.full(len(index.labels), -1, np.int64)
        place_of[of_found[best]] = best
        mine = best[block.labels[of_found[best]] | np.isin(of_found[best], more)]
        by_cover = of_found[mine[np.argsort(-value[mine], kind="stable")[:BY_COVER]]]
        nearest = first_different(np.where(names < 0, -1, index.of_label[names]), BY_SPAN)
        labels = np.unique(np.concatenate([by_cover, nearest])).astype(np.int32)
        rival = text.nearest(others)[0].max(axis=1, initial=NONE)
        return self._counted(text, labels, place_of[labels], near, rival)

    def _names_of(self, labels: npt.NDArray[np.integer]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return the names of labels, one label after the other, and where those of each begin."""
        sizes = np.diff(self.starts)[labels]
        begins = np.cumsum(sizes) - sizes
        return np.arange(sizes.sum()) + np.repeat(self.starts[labels] - begins, sizes), begins

    def _counted(
        self, text: ReadText, labels: Small, places: npt.NDArray[np.int64], near: Floats, rival: Floats
    ) -> Candidates:
        """Count what trees read of labels; ``places`` are those of their best names found, or -1.

        ``near`` (S, …) are the highest values of each span, ``rival`` (S,) is the highest of other labels.
        """
        index, found, words = self.index, text.found, len(text.places)
        has = places >= 0
        held = np.maximum(places, 0)

        def of_found(values: npt.NDArray[np.generic]) -> Floats:
            taken = values[held] if len(values) else np.zeros(len(held))
            return np.where(has, taken, 0).astype(np.float32)

        cover, at = of_found(found.cover), of_found(found.places).astype(np.int64)
        first = found.names[held] if len(found.names) else np.zeros(len(held), np.int32)
        size = np.where(has, np.diff(index.matrix.indptr)[first], 0)
        total = np.where(has, index.total[first], 0).astype(np.float32)
        best_here = np.zeros(words + WINDOW, np.float32)
        np.maximum.at(best_here, found.places, found.cover)
        marked, spoken = _windows(text.marked), _windows(text.spoken)
        highest = np.sort(marked[at], axis=1)
        around = _windows(np.concatenate([np.zeros(WINDOW // 2, np.float32), best_here]))[at].max(axis=1)
        columns = [
            cover, of_found(found.of_text), size, of_found(found.matched), total, total * cover, total * (1 - cover),
            around - cover, *beside(index, found, labels, at, total, cover),
            highest[:, -1], highest[:, -3:].mean(axis=1), spoken[at].max(axis=1),
        ]  # fmt: skip
        named, begins = self._names_of(labels)
        sizes = np.diff(self.starts)[labels]
        answer, name = np.stack([at, np.minimum(at + WINDOW, words)], axis=1), first
        if len(text.spans) and len(labels):
            nearness = self.vectors[named] @ text.vectors.T
            of_label = np.maximum.reduceat(nearness, begins, axis=0)  # (N, S)
            sure = of_label + np.float32(SURE_SPAN) * np.maximum(text.span_scores, UNSURE)
            span, rows = sure.argmax(axis=1), np.arange(len(labels))
            chosen, mine = text.spans[span], of_label[rows, span]
            above = (near[span] > mine[:, None] + 1e-6).sum(axis=1)
            columns += [
                mine, text.span_scores[span], sure[rows, span], of_label.max(axis=1), near[span, 0] - mine,
                np.log1p(above), rival[span] - mine, *text.of_spans[span].T, chosen[:, 1] - chosen[:, 0],
                np.argsort(np.argsort(-sure[rows, span], kind="stable")), chosen[:, 0] / words,
                np.bincount(span, minlength=len(text.spans))[span],
            ]  # fmt: skip
            by_span = ~has | (cover < mine)
            answer = np.where(by_span[:, None], chosen, answer)
            best = nearness[np.arange(len(named)), np.repeat(span, sizes)] == np.repeat(mine, sizes)
            nearest = first_of_each(np.repeat(rows, sizes), best.astype(np.float32))
            name = np.where(by_span, named[nearest], first)
        else:
            columns += [np.zeros(len(labels))] * 15
        columns += [np.argsort(np.argsort(-cover, kind="stable")), sizes, np.full(len(labels), words)]
        counts = np.stack(columns, axis=1).astype(np.float32)
        return Candidates(labels, counts, name.astype(np.int32), answer)


def _windows(values: Floats) -> Floats:
    """Return the values of each window of words, (W, WINDOW), with zeros after the last."""
    padded = np.concatenate([values, np.zeros(WINDOW, np.float32)])
    return np.lib.stride_tricks.sliding_window_view(padded, WINDOW)
