"""Scores of single sentences: the same linear model, of sentences on runs of letters.

Shapes: B texts, L labels.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
import scipy.sparse as sp

from plant_plugin.data.evidence import marked_sentences, sentences
from plant_plugin.data.text import DocumentEvidence
from plant_plugin.errors import DataError
from plant_plugin.relevance.linear import LinearModel
from plant_plugin.relevance.mutual_information import Floats
from plant_plugin.relevance.ridge import RidgeOptions
from plant_plugin.relevance.terms import Terms

# Letters, not words: chosen on CodiEsp's validation documents (benchmarks/TRIALS.md).
LETTERS, LETTERS_MIN, SENTENCE_PENALTY, KEPT = Terms(3, 5, letters=True), 3, 0.5, 0.95
REPLAYED = 1  # known sentences read again for each new one, chosen as above


@dataclass(eq=False, repr=False)
class SentenceScores:
    """Scores of the sentences of a text, each by itself: every label has the score of the sentence that has most of it.

    A label and a word that meet in a sentence do belong together, which those of a document often do not.
    """

    model: LinearModel

    @classmethod
    def fit(
        cls,
        texts: Sequence[str],
        evidence: Sequence[DocumentEvidence],
        names: Sequence[str],
        options: RidgeOptions,
    ) -> SentenceScores:
        """A linear model of the sentences of training documents and of all that was marked in them, on runs of letters.

        A sentence has the labels that something in it was marked for; ``names`` is the label set, in column order.

        Raises:
            DataError: There are so few sentences that no run of letters is in ``LETTERS_MIN`` of them.
        """
        inside, marked = _marked_parts(texts, evidence, names)
        parts = inside + marked
        try:
            labels = _of_parts(parts, len(names))
            return cls(LinearModel.fit([text for text, _ in parts], labels, _sentence_options(options), LETTERS))
        except DataError as error:
            counts = f"(sentences: {len(inside)}, marked stretches: {len(marked)})"
            what = f"too little to learn from {counts}: no letters that {LETTERS_MIN} of them share"
            fix = "mark more training documents, or leave evidence out"
            raise DataError(what, where="evidence.training_file", fix=fix) from error

    def taught(
        self,
        texts: Sequence[str],
        evidence: Sequence[DocumentEvidence],
        names: Sequence[str],
        options: RidgeOptions,
        new: int,
    ) -> SentenceScores:
        """The model with what the first ``new`` of the training documents tell, which it has not seen.

        As :meth:`fit` else; its rows are those of ``names`` already. See :meth:`LinearModel.taught`: of what it has
        seen it reads ``REPLAYED`` times as much again, drawn at random with the seed 0. What is so much that it is
        solved label by label is fitted anew.
        """
        both = (_marked_parts(texts[rows], evidence[rows], names) for rows in (slice(new), slice(new, None)))
        fresh, known = (inside + marked for inside, marked in both)
        if not fresh:
            return self
        if _sentence_options(options).model_for(len(known) + len(fresh), len(names)) == "label_ridge":
            return self.fit(texts, evidence, names, options)
        drawn = random.Random(0).sample(known, min(len(known), REPLAYED * len(fresh)))
        words, again = ([text for text, _ in parts] for parts in (fresh, drawn))
        labels = _of_parts(fresh, len(names))
        return SentenceScores(
            self.model.taught(words, labels, again, len(known) + len(fresh), _sentence_options(options))
        )

    def scores(self, texts: Sequence[str]) -> Floats:
        """Scores (B, L)."""
        scores = np.zeros((len(texts), self.model.weights.shape[0]), dtype=np.float32)
        parts = [[text[start:end] for start, end in sentences(text)] for text in texts]
        features = self.model.features(list(chain.from_iterable(parts)))  # of all at once: words stand there again
        ends = np.cumsum(list(map(len, parts)))
        for row, (stretches, end) in enumerate(zip(parts, ends.tolist(), strict=True)):
            if stretches:
                scores[row] = self.model.scores_of(features[end - len(stretches) : end]).max(axis=0)
        return scores


Part = tuple[str, list[int]]  # a stretch of text, and the columns of what is marked in it


def _marked_parts(
    texts: Sequence[str], evidence: Sequence[DocumentEvidence], names: Sequence[str]
) -> tuple[list[Part], list[Part]]:
    """The sentences of documents in which something is marked; and all stretches that are marked, each once."""
    column_of = {name: column for column, name in enumerate(names)}
    marked: dict[str, set[int]] = {}  # the same words as one text, with all that they were marked for
    parts: list[Part] = []
    for text, of_document in zip(texts, evidence, strict=True):
        known = {name: spans for name, spans in of_document.items() if name in column_of}
        for name, spans in known.items():
            for start, end in spans:
                marked.setdefault(text[start:end].lower(), set()).add(column_of[name])
        for start, end, inside in marked_sentences(text, known):
            parts.append((text[start:end], [column_of[name] for name in inside]))
    return parts, [(words, sorted(columns)) for words, columns in marked.items()]


def _of_parts(parts: Sequence[Part], labels: int) -> sp.csr_array:
    rows = np.repeat(np.arange(len(parts)), np.array([len(columns) for _, columns in parts], dtype=np.int64))
    places = rows, [column for _, columns in parts for column in columns]
    return sp.csr_array((np.ones(len(rows), dtype=np.float32), places), shape=(len(parts), labels))


def _sentence_options(options: RidgeOptions) -> RidgeOptions:
    model = "auto" if options.model == "ridge" else options.model  # there may be far more sentences than documents
    return replace(options, model=model, penalty=SENTENCE_PENALTY, kept=KEPT, min_documents=LETTERS_MIN, lead=0)
