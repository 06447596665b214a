"""Suggestions of a model for documents of the desk."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import suppress

import numpy as np

from plant_plugin.errors import ConfigError
from plant_plugin.evaluation.ranking import top_labels
from plant_plugin.model.accepted_share import accepted_share
from plant_plugin.model.known_words import knows_a_word
from plant_plugin.model.manifest import MANIFEST, MODEL
from plant_plugin.model.predictor import Predictor
from plant_plugin.model.trained import Floats
from plant_plugin.serving.desk.store import Suggested, Suggestions

MOST, LEAST = 40, 5  # labels that are suggested: those above the threshold, but so many at most and at least
AHEAD = 8  # documents that the model reads together where nobody waits


def model_hash(predictor: Predictor) -> str:
    """Return a short name of the model that another training does not share."""
    known = [path for name in (MANIFEST, MODEL) if (path := predictor.folder / name).is_file()]
    content = known[0].read_bytes() if known else predictor.name.encode()
    return hashlib.sha256(content).hexdigest()[:16]


def suggest(predictor: Predictor, texts: Sequence[str]) -> list[Suggestions]:
    """Suggest labels for each text, none where the model knows no word; without words where its network shows none."""
    logits = predictor.logits(texts)
    return [
        Suggestions(_labels(predictor, text, row), uncertainty)
        for text, row, uncertainty in zip(texts, logits, entropies(logits).tolist(), strict=True)
    ]


def entropies(logits: Floats) -> Floats:
    """Return the sum over labels of the entropy of "has it or not" (N,), in nats, from logits (N, L).

    H(σ(z)) = log(1 + e^−|z|) + |z| e^−|z| / (1 + e^−|z|), which neither overflows nor takes the logarithm of 0.
    """
    size = np.abs(logits.astype(np.float64))
    small = np.exp(-size)
    entropy: Floats = (np.log1p(small) + size * small / (1 + small)).sum(axis=1)
    return entropy


def _labels(predictor: Predictor, text: str, logits: Floats) -> list[Suggested]:
    limit = float(np.float32(predictor.limit()))
    shown = max(LEAST, (logits > limit).sum()) * knows_a_word(predictor, text)
    best = [
        predictor.scored_label(column, float(logits[column]))
        for column in top_labels(logits[None], min(MOST, logits.size))[0][:shown]
    ]
    spans: dict[str, list[tuple[int, int]]] = {}
    with suppress(ConfigError):  # the network shows no attention, or its tokenizer no places
        for each in predictor.explain(text, [label.label for label in best]).labels:
            spans[each.scored.label] = [(part.start, part.end) for part in each.passages]
    return [
        {
            "label": each.label,
            "probability": round(each.probability, 4),
            "predicted": each.logit > limit,
            "spans": spans.get(each.label, []),
            "accepted": accepted_share(predictor.thresholds, each.logit),
        }
        for each in best
    ]
