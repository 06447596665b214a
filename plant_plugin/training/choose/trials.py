"""Try options on a linear model: what each gains on validation documents, pair by pair."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from plant_plugin.config.options import PlantedScoresOptions
from plant_plugin.data.documents import Corpus, Split
from plant_plugin.evaluation.metrics import Evaluator
from plant_plugin.evaluation.verdict import Comparison
from plant_plugin.relevance.linear import LinearModel
from plant_plugin.relevance.mined_phrases import MinedPhrases
from plant_plugin.relevance.ridge import RidgeOptions
from plant_plugin.report.gain import gain_of
from plant_plugin.training.inputs import Floats
from plant_plugin.training.phrase_weights import LINEAR_WEIGHTS
from plant_plugin.training.weights import blocks

TRIED, TRIED_ON = 4000, 1000  # training and validation documents of a trial at most


class Trial:
    """Some training and validation documents, drawn at random where there are many."""

    def __init__(self, corpus: Corpus, val: Split, options: PlantedScoresOptions) -> None:
        self.texts, self.labels = _drawn(corpus, corpus.train, TRIED)
        self.val_texts, self.truth = _drawn(corpus, val, TRIED_ON)
        self.held_out = len(val) / (len(corpus.train) + len(val))
        self.options = options
        self.metric = f"nDCG@{min(5, self.truth.shape[1])}"

    def gain(self, options: PlantedScoresOptions) -> Comparison:
        """Return the nDCG@5 that the linear model gains by other options."""
        return self._gain(self._fitted(options), self._plain)

    def more(self) -> Comparison:
        """Return the nDCG@5 that the linear model gains by such a part of its documents as validation is of all."""
        rows = np.arange(len(self.texts))
        rows = rows[rows % max(2, round(1 / self.held_out)) > 0]
        fewer = LinearModel.fit([self.texts[row] for row in rows], self.labels[rows], RidgeOptions.of(self.options))
        return self._gain(self._plain, fewer)

    def mined(self) -> Comparison:
        """Return the nDCG@5 that mined phrases add to the linear model with the best of its weights."""
        linear, phrases = self._plain, MinedPhrases.fit(self.texts, self.labels)

        def scored(texts: Sequence[str]) -> list[Floats]:
            plain, mined = linear.scores_of(linear.features(texts)), phrases.scores(texts)
            return [plain, *(weight * plain + mined for weight in LINEAR_WEIGHTS)]

        plain, *both = self._evaluated(scored)
        best = max(both, key=lambda evaluator: evaluator.compute()[self.metric])
        return self._compared(best, plain)

    @cached_property
    def _plain(self) -> LinearModel:
        return self._fitted(self.options)

    def _fitted(self, options: PlantedScoresOptions) -> LinearModel:
        return LinearModel.fit(self.texts, self.labels, RidgeOptions.of(options))

    def _gain(self, other: LinearModel, plain: LinearModel) -> Comparison:
        models = other, plain
        scored = self._evaluated(lambda texts: [model.scores_of(model.features(texts)) for model in models])
        return self._compared(*scored)

    def _compared(self, other: Evaluator, plain: Evaluator) -> Comparison:
        labels = [str(label) for label in range(self.truth.shape[1])]
        return gain_of(other.per_document(labels), plain.per_document(labels), self.metric)

    def _evaluated(self, scored: Callable[[Sequence[str]], list[Floats]]) -> list[Evaluator]:
        """Evaluate each kind of scores (B, L) of the validation texts, a few texts at a time."""
        labels, evaluators = self.truth.shape[1], list[Evaluator]()
        for rows in blocks(*self.truth.shape):
            kinds = scored(self.val_texts[rows])
            evaluators = evaluators or [Evaluator(labels, metrics=[self.metric], keep_documents=True) for _ in kinds]
            for scores, evaluator in zip(kinds, evaluators, strict=True):
                evaluator.update(scores, self.truth[rows])
        return evaluators


def _drawn(corpus: Corpus, split: Split, most: int) -> tuple[list[str], sp.csr_array]:
    """Draw texts and labels of at most so many documents of a split."""
    rows = np.arange(len(split))
    if len(split) > most:
        rows = np.sort(np.random.default_rng(0).choice(len(split), most, replace=False))
    return [split.texts[row] for row in rows], corpus.label_matrix(split)[rows]
