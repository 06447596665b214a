"""Choose on validation documents what phrases count beside the linear models.

Shapes: N validation documents, L labels.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np

from plant_plugin.relevance.planted_scores import PlantedScores
from plant_plugin.training.inputs import Floats

# Tried weights λ of the linear model of documents and σ of that of sentences, beside phrases.
LINEAR_WEIGHTS, SENTENCE_WEIGHTS = (0.0, 0.25, 0.5, 1.0, 2.0), (0.0, 0.5, 1.0, 2.0, 4.0, 6.0)
# Tried bends of the sum of phrases, of equals the first. The sum itself is none of them: of five sets with evidence or
# mined phrases it won on none, and where cases are long and repeat themselves it loses much (benchmarks/TRIALS.md).
BENDS = (0.5, 1.0, 2.0)


def choose_beside_phrases(
    planted: PlantedScores, texts: Sequence[str], of_documents: Floats, best: Callable[[Iterable[Floats]], int]
) -> tuple[PlantedScores, Floats]:
    """Choose λ, σ and the bend, and return what phrases and sentences then add to each document, (N, L).

    Args:
        planted: With phrases.
        texts: The documents.
        of_documents: Scores of the linear model.
        best: Returns the place of the best of several scores, each (N, L).
    """
    assert planted.phrases is not None
    of_phrases = planted.phrases.scores(texts)
    of_sentences = np.float32(0) if planted.sentences is None else planted.sentences.scores(texts)
    sentence_weights = (0.0,) if planted.sentences is None else SENTENCE_WEIGHTS
    tried = [
        replace(planted, bend=bend, linear_weight=linear, sentence_weight=sentence)
        for bend, linear, sentence in itertools.product(BENDS, LINEAR_WEIGHTS, sentence_weights)
    ]

    def evidence(weighed: PlantedScores) -> Floats:
        added: Floats = weighed.bent(of_phrases) + np.float32(weighed.sentence_weight) * of_sentences
        return added

    place = best(np.float32(weighed.linear_weight) * of_documents + evidence(weighed) for weighed in tried)
    return tried[place], evidence(tried[place])
