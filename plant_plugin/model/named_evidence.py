"""Labels that only their names make known, in predictions and explanations.

Such a label has the logit a · z + b. What it would have without any word is its bias; the rest is shared alike among
the words that answer to its name.

Shapes: B texts, K labels of training, U that only a name makes known, W words.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, TypeVar

import numpy as np
from scipy.special import expit

from plant_plugin.data.batches import Places
from plant_plugin.evaluation.plausibility import marked_words
from plant_plugin.model.scored_label import ScoredLabel
from plant_plugin.relevance.mutual_information import Floats
from plant_plugin.relevance.names.open_labels import OpenLabels, Proposed

Strengths = tuple[dict[str, Floats], float, float]  # measures of words, bias and elsewhere
Terms = tuple[float, list[tuple[str, float]]]  # what planted scores add, and the terms that add most of it
ATTENTION = "attention"  # which a share of 1 is divided among


class ReadsNames:
    """The part of a model that knows labels by their names."""

    open_labels: OpenLabels | None
    labels: list[str]
    names: Callable[[str], str | None]

    @cached_property
    def column_of(self) -> dict[str, int]:
        """Return label -> column."""
        return {label: column for column, label in enumerate(self.labels)}

    def widen(self) -> None:
        """Add the labels that only a name makes known, after the K of training."""
        self.num_trained = len(self.labels)
        if (names := self.open_labels) is not None:
            self.labels, shown = names.widened, self.names
            self.names = lambda label: shown(label) or names.first_name(label)

    def with_named(self, logits: Floats, texts: Sequence[str]) -> Floats:
        """Return sums (B, K) of texts with those of labels that names make known, (B, K + U); -inf: not scored."""
        names = self.open_labels
        if names is None:
            return logits
        return names.wide(logits, [names.propose(text) for text in texts])

    def scored_label(self, column: int, logit: float) -> ScoredLabel:
        """Return a label with its logit, probability and name."""
        label, names = self.labels[column], self.open_labels
        seen = names is None or not names.by_name[column]
        return ScoredLabel(label, float(expit(logit)), logit, self.names(label), seen)

    def names_in(self, text: str) -> NamedEvidence | None:
        """Return what names say of a text; None where there are no labels but those of training."""
        names = self.open_labels
        return None if names is None else NamedEvidence(names, text, names.propose(text))


@dataclass(frozen=True, eq=False, repr=False)
class NamedEvidence:
    """What names say of one text."""

    open_labels: OpenLabels
    text: str
    proposed: Proposed

    def is_named(self, column: int) -> bool:
        """Tell whether only a name makes a label known."""
        return self.open_labels.by_name[column]

    def strength(self, column: int, words: Places) -> tuple[Floats, float]:
        """Return the logits that each word (W, 2) adds to such a label, (W,), and those that it has without any."""
        names = self.open_labels
        bias, strength = names.lowest, np.zeros(len(words), np.float32)
        if (row := self._row(column)) is not None:
            spans = names.answering(self.text, self.proposed.spans[row], self.proposed.names[row])
            there, logit = marked_words(words, spans), names.logit(float(self.proposed.log_odds[row]))
            if there.any():
                strength[there] = (logit - bias) / there.sum()
            else:
                bias = logit
        return strength, bias

    def term(self, column: int) -> tuple[str, float] | None:
        """Return the name that a text answers to, and what it adds to the logit of a label that training showed."""
        row = self._row(column)
        if row is None:
            return None
        added = 0.0 if self.is_named(column) else self.open_labels.added_to_known(float(self.proposed.log_odds[row]))
        return self.proposed.names[row], added

    def _row(self, column: int) -> int | None:
        rows = np.flatnonzero(self.proposed.columns == column)
        return int(rows[0]) if len(rows) else None


class ReadDocument(Protocol):
    """A document as a model read it."""

    @property
    def predictor(self) -> ReadsNames:
        """The model."""

    @property
    def text(self) -> str:
        """The document."""


class PlacedWords(Protocol):
    """The words of a document."""

    @property
    def spans(self) -> Places:
        """Where each begins and ends, (W, 2)."""


Document = TypeVar("Document", bound=ReadDocument)
Words = TypeVar("Words", bound=PlacedWords)
Orders = TypeVar("Orders")


def strengths_of_names(
    of_trained: Callable[[Document, Words, Sequence[int], Orders], Iterator[Strengths]],
) -> Callable[[Document, Words, Sequence[int], Orders], Iterator[Strengths]]:
    """Let what yields the strengths of words for labels of training yield them for labels of a name too."""

    @functools.wraps(of_trained)
    def both(encoded: Document, words: Words, columns: Sequence[int], orders: Orders) -> Iterator[Strengths]:
        names = encoded.predictor.names_in(encoded.text)
        if names is None:
            yield from of_trained(encoded, words, columns, orders)
            return
        # the first label stands for those that the network does not know, so that all have the same measures
        known = [0 if names.is_named(column) else column for column in columns]
        for column, strengths in zip(columns, of_trained(encoded, words, known, orders), strict=True):
            if not names.is_named(column):
                yield strengths
                continue
            strength, bias = names.strength(column, words.spans)
            shares = strength / (strength.sum() or 1)
            yield {order: shares if order == ATTENTION else strength for order in strengths[0]}, bias, 0.0

    return both


def terms_of_names(
    of_trained: Callable[[Document, Sequence[int]], Iterator[Terms]],
) -> Callable[[Document, Sequence[int]], Iterator[Terms]]:
    """Let what yields the terms of planted scores yield names too, and what these add to labels of training."""

    @functools.wraps(of_trained)
    def both(encoded: Document, columns: Sequence[int]) -> Iterator[Terms]:
        names = encoded.predictor.names_in(encoded.text)
        if names is None:
            yield from of_trained(encoded, columns)
            return
        known = of_trained(encoded, [column for column in columns if not names.is_named(column)])
        for column in columns:
            total, terms = (0.0, []) if names.is_named(column) else next(known)
            name = names.term(column)
            yield total + (0.0 if name is None else name[1]), ([] if name is None else [name]) + terms

    return both
