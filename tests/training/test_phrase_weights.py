"""What phrases count beside linear models: chosen on validation documents."""

from __future__ import annotations

import random
from collections.abc import Iterable

import numpy as np
import pytest
import scipy.sparse as sp

from plant_plugin.data.text import DocumentEvidence
from plant_plugin.evaluation.metrics import Evaluator
from plant_plugin.relevance.phrases import PlantedPhrases
from plant_plugin.relevance.planted_scores import PlantedScores
from plant_plugin.relevance.ridge import RidgeOptions
from plant_plugin.training import phrase_weights
from plant_plugin.training.phrase_weights import (
    BENDS,
    choose_beside_phrases,
)

BETWEEN = "The note goes on here, in words that all of the other notes have too, and nothing comes of it."
Case = tuple[str, list[str], DocumentEvidence]
LABELS = [f"L{number}" for number in range(20)]
CHRONIC = "L0"  # whose words stand in every case, many times over


def cases(number: int, seed: int) -> list[Case]:
    """Long cases that repeat themselves: dozens of ways to speak of a label that a third of them has."""
    drawn, written = random.Random(seed), []
    for _ in range(number):
        labels = drawn.sample(LABELS[1:], 2) + [CHRONIC] * (drawn.random() < 0.3)
        text, evidence = "", DocumentEvidence()
        for _ in range(40):
            word = drawn.randrange(120)
            stretch = f"stable{word} since{word % 40 + drawn.randrange(2)}"
            if CHRONIC in labels:
                evidence.setdefault(CHRONIC, []).append((len(text), len(text) + len(stretch)))
            text += f"{stretch}. {BETWEEN} "
        for label in labels[:2]:
            stretch = f"sign{label} way{drawn.randrange(4)}"
            evidence.setdefault(label, []).append((len(text), len(text) + len(stretch)))
            text += f"{stretch}. {BETWEEN} "
        text += f"no sign{drawn.choice(LABELS[1:])} today."  # which fits another label as well
        written.append((text, labels, evidence))
    return written


def matrix(documents: list[Case]) -> sp.csr_array:
    return sp.csr_array(np.array([[label in labels for label in LABELS] for _, labels, _ in documents], np.float32))


def first_is_right(bends: tuple[float, ...], monkeypatch: pytest.MonkeyPatch) -> tuple[float, float]:
    """P@1 of new cases with the weights that validation cases choose, and the chosen bend."""
    monkeypatch.setattr(phrase_weights, "BENDS", bends)
    train, val, test = cases(300, 0), cases(60, 1), cases(60, 2)
    texts, evidence = [text for text, _, _ in train], [marked for _, _, marked in train]
    planted = PlantedScores.fit(texts, matrix(train), RidgeOptions(model="ridge"), evidence, LABELS)
    phrases = PlantedPhrases.fit(texts, matrix(train), evidence, LABELS)
    planted = PlantedScores(planted.linear, planted.rarity, phrases, planted.sentences)

    def best(tried: Iterable[np.ndarray]) -> int:
        return int(np.argmax([metric(scores, val, "MAP") for scores in tried]))

    val_texts = [text for text, _, _ in val]
    linear = planted.linear_scores_of(planted.linear.features(val_texts))
    chosen, added = choose_beside_phrases(planted, val_texts, linear, best)
    np.testing.assert_allclose(added, chosen.evidence_scores(val_texts), rtol=1e-5, atol=1e-5)
    return metric(chosen.scores([text for text, _, _ in test]), test, "P@1"), chosen.bend


def metric(scores: np.ndarray, documents: list[Case], name: str) -> float:
    evaluator = Evaluator(len(LABELS), metrics=[name])
    evaluator.update(scores, matrix(documents))
    return evaluator.compute()[name]


@pytest.mark.integration
def test_many_weak_phrases_do_not_outweigh_a_sure_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """In long cases the sum of dozens of phrases that say little put one wrong label first."""
    raw, bend = first_is_right((0.0,), monkeypatch)
    assert bend == 0
    chosen, bend = first_is_right(BENDS, monkeypatch)
    assert bend == max(BENDS)
    assert raw < 0.5
    assert chosen > 0.9
