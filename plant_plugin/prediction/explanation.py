"""Why a model predicts a label: what each word of the document adds to its logit.

Shapes: T tokens, W words, M labels that are explained, L labels.

The logit of a label is a sum over tokens (attention × what the label reads from the token's state), plus the label's
bias, plus the planted scores' share. An encoder's state knows its neighbours, so what stands at a word may come from
the words around it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import torch

from plant_plugin.errors import ConfigError
from plant_plugin.prediction.words import Words, words_of_tokens
from plant_plugin.registry import suggestion
from plant_plugin.training.module import move

if TYPE_CHECKING:
    from plant_plugin.prediction.predictor import Predictor, ScoredLabel

Floats = npt.NDArray[np.float32]

BLOCK = 32  # labels explained at once: bounds the memory of (M, heads, T)
BEST = 5  # labels shown where none is above the threshold
TERMS = 10  # terms of the planted scores that are named
PASSAGE_WORDS, GAP = 20, 3  # a passage joins those of the 20 strongest words that stand at most 3 words apart
FAINT = 0.05  # words below this share of the strongest make no passage
CONTEXT = 6  # words shown before and after a passage


@dataclass(frozen=True)
class Passage:
    """A stretch of the document that speaks for a label.

    Attributes:
        start: Its first character.
        end: Behind its last.
        score: Sum over its strong words, of contributions (logits) or of attention where there are none.
        before: A few words in front of it.
        after: A few words behind it.
    """

    start: int
    end: int
    score: float
    before: str = field(repr=False)
    after: str = field(repr=False)


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
        passages: The best first.
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
    faithfulness: dict[str, tuple[float, float]] | None = None

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
    predictor: Predictor,
    text: str,
    labels: Sequence[str] | None = None,
    *,
    threshold: float | str | None = None,
    top: int | None = None,
) -> Explanation:
    """See :meth:`plant_plugin.prediction.predictor.Predictor.explain`."""
    logits = predictor.logits([text])[0]
    limit = predictor.limit(threshold)
    columns = _columns(predictor, logits, labels, limit, top)
    tokens = predictor.model.tokens
    spans = tokens.spans(text, predictor.max_tokens)
    words = words_of_tokens(text, spans or [(0, 0)])  # a document without tokens has one position of padding
    evidence = []
    for start in range(0, len(columns), BLOCK):
        evidence += _evidence(predictor, text, words, columns[start : start + BLOCK], logits, limit)
    return Explanation(
        text=text,
        words=words.spans,
        labels=evidence,
        model=predictor.name,
        tokens=len(spans),
        cut=len(spans) >= predictor.max_tokens,
        threshold=limit,
    )


def _columns(
    predictor: Predictor, logits: Floats, labels: Sequence[str] | None, limit: float, top: int | None
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


def column_of(predictor: Predictor, label: str) -> int:
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
    predictor: Predictor, text: str, words: Words, columns: list[int], logits: Floats, limit: float
) -> list[LabelEvidence]:
    network, batch = predictor.network, next(iter(predictor.model.batches([text], 1)))
    labels = torch.tensor([columns], device=predictor.device)
    with torch.inference_mode():
        hidden = network.encode(move(batch, predictor.device))
        try:
            attention = network.attention(hidden, labels, with_prior=True)[0].float().cpu().numpy()
        except ValueError as error:
            fix = "let the network define `attention`, see plant_plugin/networks/plantable.py"
            raise ConfigError("the network does not show its attention", where="model_name", fix=fix) from error
        parts = network.contributions(hidden, labels)
    adds = None if parts is None else parts[0][0].float().cpu().numpy()
    biases = np.zeros(len(columns)) if parts is None else parts[1][0].float().cpu().numpy()
    found = []
    for row, column in enumerate(columns):
        contribution, elsewhere = (None, 0.0) if adds is None else words.summed(adds[row])
        shares, _ = words.summed(attention[row])
        planted, terms = _planted(predictor, text, column)
        found.append(
            LabelEvidence(
                found=predictor.scored_label(column, float(logits[column])),
                predicted=bool(logits[column] > np.float32(limit)),
                attention=shares,
                contribution=contribution,
                relevance=_relevance(predictor, words, batch["text"][0].numpy(), column),
                bias=float(biases[row]),
                elsewhere=elsewhere,
                planted=planted,
                terms=terms,
                passages=_passages(text, words.spans, shares if contribution is None else contribution),
            )
        )
    return found


def _planted(predictor: Predictor, text: str, column: int) -> tuple[float, list[tuple[str, float]]]:
    planted = predictor.model.planted_scores
    if planted is None or not planted.weight:
        return 0.0, []
    terms, rest = planted.terms(text, column)
    total = planted.weight * (sum(value for _, value in terms) + rest) - planted.offset
    return total, [(term, planted.weight * value) for term, value in terms[:TERMS]]


def _relevance(predictor: Predictor, words: Words, ids: npt.NDArray[np.int64], column: int) -> Floats | None:
    if predictor.relevance is None:
        return None
    table = predictor.relevance
    row = slice(table.indptr[column], table.indptr[column + 1])
    of_type = dict(zip(table.indices[row].tolist(), table.data[row].tolist(), strict=True))
    return words.highest(np.array([of_type.get(token, 0.0) for token in ids.tolist()], dtype=np.float32))


def _passages(text: str, spans: npt.NDArray[np.int64], strength: Floats) -> list[Passage]:
    """The strongest words, those that stand close together as one."""
    least = FAINT * float(strength.max(initial=0))
    order = np.argsort(-strength, kind="stable")[:PASSAGE_WORDS].tolist()
    strongest = [place for place in order if strength[place] > least]
    groups: list[list[int]] = []
    for place in sorted(strongest):
        if groups and place - groups[-1][-1] <= GAP:
            groups[-1].append(place)
        else:
            groups.append([place])
    found = []
    for group in groups:
        start, end = int(spans[group[0], 0]), int(spans[group[-1], 1])
        before = int(spans[max(0, group[0] - CONTEXT), 0])
        after = int(spans[min(len(spans) - 1, group[-1] + CONTEXT), 1])
        score = float(strength[group].sum())
        found.append(Passage(start, end, score, text[before:start], text[end:after]))
    return sorted(found, key=lambda passage: -passage.score)
