"""Labels that a text may have by their names, and what is counted of each: trees read nothing else.

Two things propose: names whose words stand near each other, and names that are near a likely span by the towers.

Shapes: W words of a text, S spans, M names, N candidates, F counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import torch

from plant_plugin.data.text import Spans
from plant_plugin.relevance.mutual_information import Floats, Small
from plant_plugin.relevance.names.index import LETTERS, WINDOW, Lexicon, NameIndex, Translated, first_of_each
from plant_plugin.relevance.names.read_text import ReadText
from plant_plugin.relevance.names.rivals import beside, first_different, nearest_of
from plant_plugin.relevance.names.spans import SpanDetector, spans_of
from plant_plugin.relevance.names.towers import Towers
from plant_plugin.relevance.phrases import words_of

Truths = npt.NDArray[np.bool_]

BY_COVER, BY_SPAN = 80, 10  # labels that the words of a text propose, and each of its spans
NEAREST = 64  # names near a span that are looked at for those labels
SURE_SPAN, UNSURE = 0.04, -8.0  # what a unit of a span's score counts beside nearness, and the lowest that counts
COUNTS = 32


@dataclass(frozen=True, eq=False, repr=False)
class Candidates:
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
        return self.towers.vectors([words_of(name)[0] for name in self.index.names])

    @cached_property
    def starts(self) -> npt.NDArray[np.int64]:
        """Return where the names of each label begin, and their number at the end."""
        return np.searchsorted(self.index.of_label, np.arange(len(self.index.labels) + 1))

    def read(
        self, words: Sequence[str], places: Spans, spoken: Floats | None = None, marked: Floats | None = None
    ) -> ReadText:
        """Read the words of a text once for all questions; ``marked`` (W,) where another detector says it."""
        found = self.index.find([word if word.isdigit() else word[:LETTERS] for word in words], self.translated)
        if marked is None:
            marked = np.zeros(len(words), np.float32) if self.detector is None else self.detector.probabilities(words)
        spans, scores = spans_of(marked)
        vectors = self.towers.vectors([words[start:end] for start, end in spans])
        spoken = np.zeros(len(words), np.float32) if spoken is None else spoken
        return ReadText(places, found, marked, spoken, spans, scores, vectors)

    def block(self, labels: Truths) -> tuple[Small, torch.Tensor]:
        """Return the names of some labels (a mask), and their vectors, for :meth:`candidates`."""
        names = np.flatnonzero(labels[self.index.of_label]).astype(np.int32)
        return names, torch.from_numpy(self.vectors[names])

    def candidates(
        self,
        text: ReadText,
        block: tuple[Small, torch.Tensor],
        others: tuple[Small, torch.Tensor],
        more: Sequence[int] = (),
    ) -> Candidates:
        """Return the candidates among the labels of a ``block``, beside ``others``, and ``more`` of the others."""
        index, found = self.index, text.found
        names, nearness = block[0], text.nearness(block[1])
        if len(more):
            added = np.concatenate([np.arange(self.starts[label], self.starts[label + 1]) for label in more])
            names = np.concatenate([names, added.astype(np.int32)])
            nearness = torch.cat([nearness, torch.from_numpy(text.vectors @ self.vectors[added].T)], dim=1)
        allowed = np.zeros(len(index), bool)
        allowed[names] = True
        of_found = index.of_label[found.names]
        # the best name of each label that the words hold: first by cover, then by what that tells
        value = found.cover + np.float32(1e-4) * index.total[found.names] * found.cover
        best = first_of_each(of_found, value)
        place_of = np.full(len(index.labels), -1, np.int64)
        place_of[of_found[best]] = best
        mine = best[allowed[found.names[best]]]
        by_cover = of_found[mine[np.argsort(-value[mine], kind="stable")[:BY_COVER]]]
        near, nearest, rival = np.empty((0, 0), np.float32), np.empty(0, np.int64), np.zeros(0, np.float32)
        if len(text.spans) and len(names):
            near, places = nearest_of(nearness, NEAREST)
            nearest = first_different(index.of_label[names[places]], BY_SPAN)
            rival = np.full(len(text.spans), -1, np.float32)
            if len(others[0]):
                rival = text.nearness(others[1]).amax(dim=1).numpy()
        labels = np.unique(np.concatenate([by_cover, nearest])).astype(np.int32)
        return self._counted(text, labels, place_of[labels], near, rival)

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
        runs = [np.arange(self.starts[label], self.starts[label + 1]) for label in labels]
        named = np.concatenate([np.empty(0, np.int64), *runs])
        sizes = np.diff(self.starts)[labels]
        answer, name = np.stack([at, np.minimum(at + WINDOW, words)], axis=1), first
        if len(text.spans) and len(labels):
            nearness = self.vectors[named] @ text.vectors.T
            of_label = np.maximum.reduceat(nearness, np.cumsum(sizes) - sizes, axis=0)  # (N, S)
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
            starts = np.cumsum(sizes) - sizes
            nearest = [
                start + nearness[start : start + size, column].argmax()
                for start, size, column in zip(starts.tolist(), sizes.tolist(), span.tolist(), strict=True)
            ]
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
