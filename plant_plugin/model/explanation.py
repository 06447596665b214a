"""Why a model predicts a label: what each word of the document adds to its logit.

Shapes: W words, L labels.

The logit of a label is a sum over tokens (attention × what the label reads from the token's state), plus the label's
bias, plus the planted scores' share. An encoder's state knows its neighbours, so what a word adds may come from
the words around it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from plant_plugin.data.several import several
from plant_plugin.errors import ConfigError, suggestion
from plant_plugin.model.accepted_share import accepted_share
from plant_plugin.model.known_words import tokens_read
from plant_plugin.model.log_odds import in_log_odds
from plant_plugin.model.passages import Passage, passages
from plant_plugin.model.planted_words import planted_terms, with_planted_words, without_network
from plant_plugin.model.trained import Floats, Places, ReadyModel, ScoredLabel
from plant_plugin.model.word_strength import (
    ATTENTION,
    CONTRIBUTION,
    EXPLAINED,
    MIG,
    OF_SCORES,
    PARTS,
    EncodedDocument,
    all_words,
    label_strengths,
    words_of_tokens,
)

BEST = 5  # labels shown where none is above the threshold


@dataclass(frozen=True)
class LabelEvidence:
    """The evidence for and against a label in a document.

    Attributes:
        scored: The label, with its probability and logit.
        predicted: Whether it is above the threshold.
        measures: Name of a measure -> (W,) its value for each word.
        bias: Logits that the label has in any document.
        elsewhere: Logits that special tokens add.
        planted: Logits that the planted scores add.
        terms: Those of the planted scores that add most of ``planted``, with their logits.
        passages: The predicted evidence, the best first.
        faithfulness: Name of a measure -> comprehensiveness and sufficiency; None where not measured.
        accepted: The largest share of ``--accept`` that lists it; None: none does.
    """

    scored: ScoredLabel
    predicted: bool
    measures: dict[str, Floats] = field(repr=False)
    bias: float
    elsewhere: float
    planted: float
    terms: list[tuple[str, float]] = field(repr=False)
    passages: list[Passage] = field(default_factory=list, repr=False)
    faithfulness: dict[str, tuple[float, float]] | None = None
    accepted: float | None = None

    @property
    def attention(self) -> Floats:
        """Return (W,) the share of the attention on each word; the rest is on special tokens; 0 without a network."""
        return self.measures.get(ATTENTION, np.zeros_like(self.measures[next(iter(self.measures))]))

    @property
    def contribution(self) -> Floats | None:
        """Return (W,) the logits that each word adds; None where the network has no such sum."""
        return self.measures.get(CONTRIBUTION)

    @property
    def relevance(self) -> Floats | None:
        """Return (W,) the relevance (MIG as in training) of each word for the label; None without a table."""
        return self.measures.get(MIG)

    @property
    def attention_parts(self) -> dict[str, Floats]:
        """Return name -> (W,) of the parts that the attention is a sum of, before that is scaled to 1; or nothing."""
        return {part: self.measures[part] for part in PARTS if part in self.measures}

    @property
    def strength(self) -> Floats:
        """Return (W,) contributions, or attention where there are none."""
        return self.measures.get(CONTRIBUTION, self.attention)

    def strongest(self, words: int) -> list[int]:
        """Return places of the words that speak most for or against the label, so many."""
        return np.argsort(-np.abs(self.strength), kind="stable")[:words].tolist()


@dataclass(frozen=True)
class Explanation:
    """A document, and the evidence for each of its labels.

    Attributes:
        text: The document, in composed form (NFC).
        words: (W, 2) where each word that was read begins and ends.
        labels: The most probable first.
        model: The predictor's name.
        tokens: How many were read; 0: the model knows no word of the text.
        cut: The document fills all that the model reads.
        threshold: The logit above which a label is predicted.
    """

    text: str = field(repr=False)
    words: Places = field(repr=False)
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
    """Explain labels of a text, as :meth:`plant_plugin.model.predictor.Predictor.explain` does."""
    logits = predictor.logits([text])[0]
    limit = predictor.limit(threshold, top)
    columns = _columns(predictor, logits, labels, limit, top)
    encoded, silent = EncodedDocument(predictor, text), without_network(predictor, text, columns)
    # planted scores read more than the words of a network
    read, orders = (words_of_tokens, (*EXPLAINED, *PARTS)) if predictor.has_network else (all_words, OF_SCORES)
    words = read(text, encoded.spans, predictor.tokens.splitter)
    evidence = []
    strengths, added = label_strengths(encoded, words, columns, orders), planted_terms(encoded, columns)
    strengths = with_planted_words(encoded, words.spans, columns, strengths, silent)
    parts = in_log_odds(predictor.log_odds, logits, columns, strengths, added)
    for column, (measures, bias, elsewhere), (planted, terms) in parts:
        scored = predictor.scored_label(column, float(logits[column]))
        if column in silent:
            bias, elsewhere, planted = scored.logit - float(measures[CONTRIBUTION].sum()), 0.0, 0.0
        above = bool(logits[column] > np.float32(limit))
        label = LabelEvidence(scored, above, measures, bias, elsewhere, planted, terms)
        rule, strength = predictor.evidence_rule, label.strength
        named = passages(text, words.spans, measures.get(rule.order or "", strength), rule, strength)
        evidence.append(replace(label, passages=named, accepted=accepted_share(predictor.thresholds, scored.logit)))
    cut = encoded.tokens >= predictor.max_tokens
    read_tokens = tokens_read(predictor, text, encoded.tokens)
    return Explanation(text, words.spans, evidence, predictor.name, read_tokens, cut, limit)


def _columns(
    predictor: ReadyModel, logits: Floats, labels: Sequence[str] | None, limit: float, top: int | None
) -> list[int]:
    """Return the labels to explain, the highest logit first."""
    order: list[int] = np.argsort(-logits, kind="stable").tolist()
    if labels is not None:
        columns = {column_of(predictor, label) for label in several(labels, "labels")}
        return [column for column in order if column in columns]
    if top is not None:
        return order[:top]
    above = [column for column in order if logits[column] > np.float32(limit)]
    return above or order[:BEST]


def column_of(predictor: ReadyModel, label: str) -> int:
    """Return the column of a label; a ConfigError where the model does not know it."""
    try:
        return predictor.column_of[label]
    except KeyError as error:
        near = suggestion(label, predictor.labels[:10_000])
        fix = near if near.startswith("did you mean") else "take a line of the model's labels.txt"
        raise ConfigError(f"the model does not know the label {label!r}", where="labels", fix=fix) from error
