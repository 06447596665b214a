"""Why a model predicts a label: what each word of the document adds to its logit.

Shapes: T tokens, W words, M labels that are explained, L labels.

The logit of a label is a sum over tokens (attention × what the label reads from the token's state), plus the label's
bias, plus the planted scores' share. An encoder's state knows its neighbours, so what stands at a word may come from
the words around it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from plant_plugin.config.registry import suggestion
from plant_plugin.errors import ConfigError
from plant_plugin.model.passages import EvidenceRule, Passage, passages
from plant_plugin.model.trained import ReadyModel, ScoredLabel
from plant_plugin.model.word_strength import (
    ATTENTION,
    BLOCK,
    CONTRIBUTION,
    MIG,
    PHRASES,
    EncodedDocument,
    Words,
    phrase_strengths,
    words_of_tokens,
)

Floats = npt.NDArray[np.float32]

BEST = 5  # labels shown where none is above the threshold
TERMS = 10  # terms of the planted scores that are named


@dataclass(frozen=True)
class LabelEvidence:
    """What speaks for and against a label in a document.

    Attributes:
        found: The label with its probability and logit.
        predicted: Whether it is above the threshold.
        attention: (W,) share of the attention on each word; the rest is on special tokens.
        contribution: (W,) logits that each word adds; None where the network cannot tell.
        relevance: (W,) relevance (MIG, normalised as in training) of each word for the label; None without a table.
        bias: Logits that the label has in any document.
        elsewhere: Logits that special tokens add.
        planted: Logits that the planted scores add.
        terms: The terms that add most of ``planted``.
        passages: The predicted evidence, the best first.
        phrases: (W,) what planted phrases at each word add to the planted scores; None where there are none.
        faithfulness: Order of the words -> comprehensiveness and sufficiency, where they were measured.
    """

    found: ScoredLabel
    predicted: bool
    attention: Floats = field(repr=False)
    contribution: Floats | None = field(repr=False)
    relevance: Floats | None = field(repr=False)
    bias: float
    elsewhere: float
    planted: float
    terms: list[tuple[str, float]] = field(repr=False)
    passages: list[Passage] = field(repr=False)
    phrases: Floats | None = field(default=None, repr=False)
    faithfulness: dict[str, tuple[float, float]] | None = None

    @property
    def measures(self) -> dict[str, Floats | None]:
        """Order of the words -> (W,) what it goes by; None where the model cannot tell."""
        return {
            CONTRIBUTION: self.contribution,
            ATTENTION: self.attention,
            MIG: self.relevance,
            PHRASES: self.phrases,
        }

    @property
    def strength(self) -> Floats:
        """(W,) contributions, or attention where there are none."""
        return self.attention if self.contribution is None else self.contribution


@dataclass(frozen=True)
class Explanation:
    """A document, and the evidence for each of its labels.

    Attributes:
        text: The document.
        words: (W, 2) where each word that was read begins and ends.
        labels: The most probable first.
        model: The predictor's name.
        tokens: How many tokens were read.
        cut: The document fills all that the model reads.
        threshold: The logit above which a label is predicted.
    """

    text: str = field(repr=False)
    words: npt.NDArray[np.int64] = field(repr=False)
    labels: list[LabelEvidence]
    model: str
    tokens: int
    cut: bool
    threshold: float


def explain(
    predictor: ReadyModel,
    text: str,
    labels: Sequence[str] | None = None,
    *,
    threshold: float | str | None = None,
    top: int | None = None,
) -> Explanation:
    """See :meth:`plant_plugin.model.predictor.Predictor.explain`."""
    logits = predictor.logits([text])[0]
    limit = predictor.limit(threshold)
    columns = _columns(predictor, logits, labels, limit, top)
    encoded = EncodedDocument(predictor, text)
    words = words_of_tokens(text, encoded.spans)
    evidence = []
    for start in range(0, len(columns), BLOCK):
        evidence += _evidence(encoded, text, words, columns[start : start + BLOCK], logits, limit)
    return Explanation(
        text=text,
        words=words.spans,
        labels=evidence,
        model=predictor.name,
        tokens=encoded.tokens,
        cut=encoded.tokens >= predictor.max_tokens,
        threshold=limit,
    )


def _columns(
    predictor: ReadyModel, logits: Floats, labels: Sequence[str] | None, limit: float, top: int | None
) -> list[int]:
    """The labels to explain, the highest logit first."""
    order: list[int] = np.argsort(-logits, kind="stable").tolist()
    if labels is not None:
        asked = {column_of(predictor, label) for label in labels}
        return [column for column in order if column in asked]
    if top is not None:
        return order[:top]
    above = [column for column in order if logits[column] > np.float32(limit)]
    return above or order[:BEST]


def column_of(predictor: ReadyModel, label: str) -> int:
    """The column of a label.

    Raises:
        ConfigError: The model does not know the label.
    """
    try:
        return predictor.column_of[label]
    except KeyError as error:
        near = suggestion(label, predictor.labels[:10_000])
        fix = near if near.startswith("did you mean") else "take a line of the model's labels.txt"
        raise ConfigError(f"the model does not know the label {label!r}", where="labels", fix=fix) from error


def _evidence(
    encoded: EncodedDocument, text: str, words: Words, columns: list[int], logits: Floats, limit: float
) -> list[LabelEvidence]:
    predictor = encoded.predictor
    attention, parts, relevance = encoded.attention(columns), encoded.contributions(columns), encoded.relevance(columns)
    scores = predictor.model.planted_scores
    phrases = None
    if scores is not None and scores.phrases is not None:
        phrases = phrase_strengths(scores.phrases, text, words.spans, columns)
    found = []
    for row, column in enumerate(columns):
        contribution, elsewhere = (None, 0.0) if parts is None else words.summed(parts[0][row])
        planted, terms = _planted(predictor, text, column)
        evidence = LabelEvidence(
            found=predictor.scored_label(column, float(logits[column])),
            predicted=bool(logits[column] > np.float32(limit)),
            attention=words.summed(attention[row])[0],
            contribution=contribution,
            relevance=None if relevance is None else words.highest(relevance[row]),
            bias=0.0 if parts is None else float(parts[1][row]),
            elsewhere=elsewhere,
            planted=planted,
            terms=terms,
            passages=[],
            phrases=None if phrases is None else phrases[row],
        )
        found.append(replace(evidence, passages=_passages(text, words, evidence, predictor.evidence_rule)))
    return found


def _passages(text: str, words: Words, evidence: LabelEvidence, rule: EvidenceRule) -> list[Passage]:
    strength = evidence.measures[rule.order] if rule.order in evidence.measures else None
    return passages(text, words.spans, evidence.strength if strength is None else strength, rule, evidence.strength)


def _planted(predictor: ReadyModel, text: str, column: int) -> tuple[float, list[tuple[str, float]]]:
    planted = predictor.model.planted_scores
    if planted is None or not planted.weight:
        return 0.0, []
    terms, rest = planted.terms(text, column)
    total = planted.weight * (sum(value for _, value in terms) + rest) - planted.offset
    return total, [(term, planted.weight * value) for term, value in terms[:TERMS]]
