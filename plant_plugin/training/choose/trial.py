"""A linear model with and without an option, on validation documents: whether the option pays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from plant_plugin.config.options import PlantedScoresOptions
from plant_plugin.data.documents import Corpus, Split
from plant_plugin.evaluation.metrics import Evaluator
from plant_plugin.relevance.linear import LinearModel
from plant_plugin.relevance.mined_phrases import MinedPhrases
from plant_plugin.relevance.ridge import RidgeOptions
from plant_plugin.training.inputs import Floats
from plant_plugin.training.weights import LINEAR_WEIGHTS, blocks

TRIED, TRIED_ON = 4000, 1000  # training and validation documents of a trial at most


@dataclass(frozen=True)
class Trial:
    """Some training and validation documents."""

    texts: Sequence[str]
    labels: sp.csr_array  # (N, L)
    val_texts: Sequence[str]
    truth: sp.csr_array  # (M, L)
    options: PlantedScoresOptions

    @classmethod
    def of(cls, corpus: Corpus, options: PlantedScoresOptions) -> Trial:
        """Draw documents of a corpus with validation documents, at random where it has many."""
        assert corpus.val is not None
        return cls(*_drawn(corpus, corpus.train, TRIED), *_drawn(corpus, corpus.val, TRIED_ON), options)

    def gain(self, options: PlantedScoresOptions) -> float:
        """Return the nDCG@5 that the linear model gains by other options."""
        models = self._fitted(options), self._plain
        other, plain = self._ndcg(lambda texts: [model.scores_of(model.features(texts)) for model in models])
        return other - plain

    def mined(self) -> float:
        """Return the nDCG@5 that mined phrases add to the linear model with the best of its weights."""
        linear, phrases = self._plain, MinedPhrases.fit(self.texts, self.labels)

        def scored(texts: Sequence[str]) -> list[Floats]:
            plain, mined = linear.scores_of(linear.features(texts)), phrases.scores(texts)
            return [plain, *(weight * plain + mined for weight in LINEAR_WEIGHTS)]

        plain, *both = self._ndcg(scored)
        return max(both) - plain

    @cached_property
    def _plain(self) -> LinearModel:
        return self._fitted(self.options)

    def _fitted(self, options: PlantedScoresOptions) -> LinearModel:
        return LinearModel.fit(self.texts, self.labels, RidgeOptions.of(options))

    def _ndcg(self, scored: Callable[[Sequence[str]], list[Floats]]) -> list[float]:
        """Return the nDCG@5 of each kind of scores (B, L) of the validation texts, a few texts at a time."""
        labels, evaluators = self.truth.shape[1], list[Evaluator]()
        name = f"nDCG@{min(5, labels)}"
        for rows in blocks(*self.truth.shape):
            kinds = scored(self.val_texts[rows])
            evaluators = evaluators or [Evaluator(labels, metrics=[name]) for _ in kinds]
            for scores, evaluator in zip(kinds, evaluators, strict=True):
                evaluator.update(scores, self.truth[rows])
        return [float(evaluator.compute()[name]) for evaluator in evaluators]


def _drawn(corpus: Corpus, split: Split, most: int) -> tuple[list[str], sp.csr_array]:
    """Draw texts and labels of at most so many documents of a split."""
    rows = np.arange(len(split))
    if len(split) > most:
        rows = np.sort(np.random.default_rng(0).choice(len(split), most, replace=False))
    return [split.texts[row] for row in rows], corpus.label_matrix(split)[rows]
