"""Back off from codes to their category: where each of its codes alone is too unlikely, and all together are not.

The probability of a category is the sum of its codes' probabilities, at most 1. That is exact where a document has at
most one of them, as of codes that exclude or detail each other; else it is the most that it can be (Boole's
inequality). Codes taken for independent found less on validation documents (benchmarks/TRIALS.md). Codes below 1 % are
left out: they are many, and nothing shows that numbers so small are exact enough to add up.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit, logit

from plant_plugin.errors import ConfigError
from plant_plugin.model.explanation import LabelEvidence
from plant_plugin.model.hierarchy import codes_of
from plant_plugin.model.predictor import Prediction, Predictor
from plant_plugin.model.scored_label import ScoredLabel

LEAST = 0.01  # probability of a code that counts
MOST = 1 - 1e-6  # of a category; the sum may be more than 1


@dataclass(frozen=True)
class Category(ScoredLabel):
    """A category that is said in the place of its codes.

    Attributes:
        codes: Those that may be meant, at least two, the likeliest first.
    """

    codes: tuple[ScoredLabel, ...] = ()


def codes_open(label: ScoredLabel) -> list[str]:
    """Return the codes between which a category leaves the choice open; none of any other label."""
    return [code.label for code in label.codes] if isinstance(label, Category) else []


def backed_off(
    predictor: Predictor, texts: Sequence[str], threshold: float | str | None, top: int | None
) -> list[Prediction]:
    """Predict texts as :meth:`.Predictor.predict`, with a category wherever only the category is above the threshold.

    Raises:
        ConfigError: The labels are no codes of ICD-9-CM, ICD-10 or ICD-10-PCS, or there is no threshold, or
            probabilities are not calibrated.
    """
    predictor.check_calibrated("--back-off")
    groups = codes_of(predictor.labels)
    if groups is None:
        what = "the labels are no codes of ICD-9-CM, ICD-10 or ICD-10-PCS, so they have no categories"
        raise ConfigError(what, where="--back-off", fix="leave it out")
    limit = predictor.limit(threshold, top)
    if math.isinf(limit):
        raise ConfigError("no threshold", where="--back-off", fix="give --threshold beside --top")
    return [
        replace(found, labels=_with_categories(found.labels, limit, groups.category, predictor.names)[:top])
        for found in predictor.predict(texts, threshold=LEAST if expit(limit) > LEAST else threshold)
    ]


def explained(predictor: Predictor, text: str, labels: Sequence[ScoredLabel]) -> list[LabelEvidence]:
    """Explain labels in their order; for a category the words speak that speak for the likeliest of its codes."""
    asked = [(codes_open(label) or [label.label])[0] for label in labels]
    evidence = {one.scored.label: one for one in predictor.explain(text, asked).labels}
    return [
        replace(evidence[name], scored=label) if isinstance(label, Category) else evidence[name]
        for name, label in zip(asked, labels, strict=True)
    ]


def _with_categories(
    labels: Iterable[ScoredLabel], limit: float, category: Callable[[str], str], names: Callable[[str], str | None]
) -> list[ScoredLabel]:
    """Return the labels above the threshold and the categories of others that are, the most probable first."""
    above, others = list[ScoredLabel](), dict[str, list[ScoredLabel]]()
    for label in labels:
        if label.logit > np.float32(limit):
            above.append(label)
        else:
            others.setdefault(category(label.label.upper()), []).append(label)
    for label in above:
        others.pop(category(label.label.upper()), None)
    return sorted([*above, *_likely(others, limit, names)], key=lambda label: -label.logit)


def _likely(
    codes_of_category: dict[str, list[ScoredLabel]], limit: float, names: Callable[[str], str | None]
) -> Iterator[Category]:
    for category, codes in codes_of_category.items():
        probability = min(MOST, sum(code.probability for code in codes))
        if len(codes) > 1 and (score := float(logit(probability))) > limit:
            said = codes[0].label[: len(category)]  # as the data write it
            yield Category(said, probability, score, names(said), codes=tuple(codes))
