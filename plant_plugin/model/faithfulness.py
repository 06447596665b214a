"""Faithfulness: does the prediction rest on the words that an explanation names?

Words are taken out of the text, or all others are, in the order that a measure gives them, and the label's
probability p is asked again: comprehensiveness is the mean of p - p(without the strongest words), high where they
carried the prediction; sufficiency is the mean of p - p(with only the strongest words), low where they are enough.
Means are over the shares of the words in ``SHARES``.

Source: DeYoung et al. 2020, ERASER: A Benchmark to Evaluate Rationalized NLP Models, section 4 (area over the
perturbation curve, its five shares).

Shapes: W words of a document.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import torch
from scipy.special import expit

from plant_plugin.errors import DataError
from plant_plugin.model.explanation import Explanation, LabelEvidence, explain
from plant_plugin.model.trained import Places, ReadyModel
from plant_plugin.model.word_strength import RANDOM

SHARES = (0.01, 0.05, 0.1, 0.2, 0.5)  # of the words, rounded up
DRAWS = 3  # random orders, whose mean is what any order has to beat
LABELS_EACH = 5  # labels of a document that are measured, the most probable
Pair = tuple[float, float]


@dataclass(frozen=True)
class Faithfulness:
    """Means over documents of a measure's comprehensiveness and sufficiency, with standard errors over documents."""

    order: str  # what the words were ordered by, see :mod:`plant_plugin.model.word_strength`
    comprehensiveness: float  # probability lost without the strongest words; higher is better
    comprehensiveness_error: float
    sufficiency: float  # probability lost with only them; lower is better
    sufficiency_error: float
    documents: int  # that were measured; those without a predicted label or without words are not


def faithfulness(predictor: ReadyModel, texts: Iterable[str], *, seed: int = 0) -> list[Faithfulness]:
    """Measure a model on documents: for each its (at most five) most probable predicted labels.

    ``seed`` is that of the random orders, and of the order of equals.

    Raises:
        DataError: No document has a predicted label.
    """
    pairs_of_order: dict[str, list[npt.NDArray[np.float64]]] = {}
    for number, text in enumerate(texts):
        explanation = explain(predictor, text)
        predicted = [evidence for evidence in explanation.labels if evidence.predicted][:LABELS_EACH]
        if not predicted or not len(explanation.words):
            continue
        measured = measure(predictor, replace(explanation, labels=predicted), seed=seed + number)
        for order in measured[0]:
            pairs_of_order.setdefault(order, []).append(np.mean([pairs[order] for pairs in measured], axis=0))
    if not pairs_of_order:
        fix = "give documents that the model knows, or another model"
        raise DataError("no document has a label above the threshold", fix=fix)
    means = []
    for order, pairs in pairs_of_order.items():
        (without, alone), count = np.mean(pairs, axis=0).tolist(), len(pairs)
        errors = np.std(pairs, axis=0, ddof=1) / math.sqrt(count) if count > 1 else np.full(2, math.nan)
        means.append(Faithfulness(order, without, float(errors[0]), alone, float(errors[1]), count))
    return means


def with_faithfulness(predictor: ReadyModel, explanation: Explanation, *, seed: int = 0) -> Explanation:
    """Return the explanation with both numbers at each of its labels."""
    if not len(explanation.words):
        return explanation
    measured = measure(predictor, explanation, seed=seed)
    labels = [
        replace(evidence, faithfulness=pairs) for evidence, pairs in zip(explanation.labels, measured, strict=True)
    ]
    return replace(explanation, labels=labels)


def measure(predictor: ReadyModel, explanation: Explanation, *, seed: int) -> list[dict[str, Pair]]:
    """Return order of the words -> comprehensiveness and sufficiency, for each label of an explanation.

    What the model did not read (after its length) is left out of every text, or taking words out would bring it in.
    """
    random = np.random.default_rng(seed)
    words = explanation.words
    text = explanation.text[: int(words[-1, 1])]
    pairs_of_labels = []
    for evidence in explanation.labels:
        names, variants = [], [text]
        for name, order in _orders(evidence, len(words), random):
            names.append(name)
            rank = np.argsort(order)
            for share in SHARES:
                chosen = rank < math.ceil(share * len(words))
                variants += [_without(text, words, chosen), _without(text, words, ~chosen)]
        whole, *changed = probabilities(predictor, variants, predictor.column_of[evidence.scored.label])
        lost = (whole - np.array(changed)).reshape(len(names), len(SHARES), 2).mean(axis=1)
        means = {name: lost[np.array(names) == name].mean(axis=0).tolist() for name in names}
        pairs_of_labels.append({name: (without, alone) for name, (without, alone) in means.items()})
    return pairs_of_labels


def _orders(evidence: LabelEvidence, words: int, random: np.random.Generator) -> Iterator[tuple[str, Places]]:
    """Yield words, the strongest first, by each measure that there is; equals in random order."""
    for name, values in evidence.measures.items():
        mixed = random.permutation(words)
        yield name, mixed[np.argsort(-values[mixed], kind="stable")]
    for _ in range(DRAWS):
        yield RANDOM, random.permutation(words)


def _without(text: str, words: Places, gone: npt.NDArray[np.bool_]) -> str:
    """Return the text with a space in the place of each word that is gone."""
    parts, end = [], 0
    for start, stop in words[gone].tolist():
        parts += [text[end:start], " "]
        end = stop
    return "".join([*parts, text[end:]])


def probabilities(predictor: ReadyModel, texts: Sequence[str], column: int) -> npt.NDArray[np.float64]:
    """Return the probability (N,) of a label in each text, planted scores included."""
    planted = predictor.planted_scores
    if predictor.open_labels:
        return np.asarray(expit(predictor.logits(texts)[:, column]))
    logits = np.empty(len(texts))

    def chosen(batch: dict[str, torch.Tensor], documents: Places) -> torch.Tensor:
        if "shortlist" in batch:  # taking words out may take the label off it
            return predictor.network(batch)["logits"][:, column]
        labels = torch.full((len(documents), 1), column, device=predictor.device)
        return predictor.network.selected_logits(predictor.network.encode(batch), labels)[:, 0]

    for scores, documents, _ in predictor.by_batch(predictor.batches(texts, predictor.batch_size), chosen):
        if planted is not None and planted.weight:
            planted.add_scores(scores, planted.scores([texts[document] for document in documents])[:, column])
        logits[documents] = predictor.log_odds.of(scores)
    return np.asarray(expit(logits))
