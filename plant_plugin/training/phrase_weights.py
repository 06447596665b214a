"""Choose on validation documents what phrases count beside the linear models, and keep what an earlier training chose.

Shapes: N validation documents, L labels.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from plant_plugin.errors import CheckpointError
from plant_plugin.files import read_json, write_json
from plant_plugin.relevance.chosen_weights import CHOSEN, with_all
from plant_plugin.relevance.planted_scores import PlantedScores
from plant_plugin.training.inputs import Floats

# Tried weights λ of the linear model of documents and σ of that of sentences, beside phrases.
LINEAR_WEIGHTS, SENTENCE_WEIGHTS = (0.0, 0.25, 0.5, 1.0, 2.0), (0.0, 0.5, 1.0, 2.0, 4.0, 6.0)
# Tried bends of the sum of phrases, of equals the first. The sum itself is none of them: of five sets with evidence or
# mined phrases it won on none, and where cases are long and repeat themselves it loses much (benchmarks/TRIALS.md).
BENDS = (0.5, 1.0, 2.0)
CHOSEN_WEIGHTS = "chosen_weights.json"


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


def read_chosen_weights(folder: Path) -> dict[str, float] | None:
    """Read ``chosen_weights.json`` of a run, all weights but γ; None where it chooses them itself.

    Raises:
        CheckpointError: It is torn.
    """
    path, what, fix = folder / CHOSEN_WEIGHTS, "what a run begins with", "start a new run"
    if not path.exists():
        return None
    weights = with_all(read_json(path, dict[str, float], what=what, fix=fix))
    if weights.keys() != set(_but_weight(CHOSEN)):
        raise CheckpointError(
            f"{what} has other weights than {', '.join(_but_weight(CHOSEN))}", where=str(path), fix=fix
        )
    return weights


def write_chosen_weights(folder: Path, weights: Mapping[str, float]) -> None:
    """Write ``chosen_weights.json`` for the training that will be made in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / CHOSEN_WEIGHTS, {name: weights[name] for name in _but_weight(CHOSEN)})


def _but_weight(names: Iterable[str]) -> list[str]:
    """Return names without that of γ, which a configuration says."""
    return [name for name in names if name != "weight"]
