"""Explanations as JSON; :mod:`plant_plugin.model.page` makes a page, :mod:`plant_plugin.model.printed` prints them.

An explanation is one dictionary, :class:`Explained`, whose types the OpenAPI page shows too.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema
from typing_extensions import NotRequired, TypedDict

from plant_plugin.model.explanation import Explanation, LabelEvidence
from plant_plugin.model.scored_label import Hint

WORDS = 20  # words of a label that JSON holds


class Passage(TypedDict):
    """Predicted evidence: a stretch of the document that speaks for the label."""

    start: Annotated[int, Field(description="In characters.")]
    end: int
    text: str
    score: float


class Word(TypedDict):
    """A word of the document; a number is null where the network or the model folder does not know it."""

    start: int
    end: int
    text: str
    attention: float
    contribution: Annotated[float | None, Field(description="Logits that the word adds.")]
    relevance: Annotated[float | None, Field(description="Mutual information with the label in training, scaled to 1.")]
    attention_parts: NotRequired[
        Annotated[dict[str, float], Field(description="where the attention is a sum of parts: each of them.")]
    ]


class Term(TypedDict):
    """A term of the planted scores."""

    term: str
    contribution: float


class ExplainedLabel(TypedDict):
    """The evidence for a label: contributions of all words, bias, planted and elsewhere add up to its logit."""

    label: str
    name: Annotated[str | None, Field(description="What the label stands for, where the server knows it.")]
    probability: float
    logit: float
    predicted: bool
    bias: float
    planted: float
    elsewhere: float
    passages: list[Passage]
    words: Annotated[list[Word], Field(description="The strongest.")]
    planted_terms: list[Term]
    hints: NotRequired[Annotated[list[Hint], Field(description="Of codes of ICD-10-CM: what its rules say of them.")]]
    accepted: NotRequired[
        Annotated[
            float, Field(description="The largest share of `--accept` that lists it: of those listed it is true.")
        ]
    ]
    faithfulness: NotRequired[SkipJsonSchema[dict[str, tuple[float, float]]]]  # only `plant explain` measures it


class Explained(TypedDict):
    """An explanation."""

    model: str
    tokens: int
    cut: bool
    labels: list[ExplainedLabel]


def as_dictionary(explanation: Explanation, words: int = WORDS) -> Explained:
    """Return an explanation as JSON has it: of each label, so many of the strongest words."""
    labels = [_label(explanation, evidence, words) for evidence in explanation.labels]
    return {"model": explanation.model, "tokens": explanation.tokens, "cut": explanation.cut, "labels": labels}


def _label(explanation: Explanation, evidence: LabelEvidence, words: int) -> ExplainedLabel:
    scored = evidence.scored
    label: ExplainedLabel = {
        "label": scored.label,
        "name": scored.shown or None,
        "probability": scored.probability,
        "logit": scored.logit,
        "predicted": evidence.predicted,
        "bias": evidence.bias,
        "planted": evidence.planted,
        "elsewhere": evidence.elsewhere,
        "passages": [
            {"start": start, "end": end, "text": explanation.text[start:end], "score": passage.score}
            for passage in evidence.passages
            for start, end in [(passage.start, passage.end)]
        ],
        "words": [as_word(explanation, evidence, place) for place in evidence.strongest(words)],
        "planted_terms": [{"term": term, "contribution": value} for term, value in evidence.terms],
    }
    if scored.hints:
        label["hints"] = list(scored.hints)
    if evidence.accepted is not None:
        label["accepted"] = evidence.accepted
    if evidence.faithfulness is not None:
        label["faithfulness"] = evidence.faithfulness
    return label


def as_word(explanation: Explanation, evidence: LabelEvidence, place: int) -> Word:
    """Return a word of the document as JSON has it."""
    start, end = explanation.words[place].tolist()
    word: Word = {
        "start": start,
        "end": end,
        "text": explanation.text[start:end],
        "attention": float(evidence.attention[place]),
        "contribution": None if evidence.contribution is None else float(evidence.contribution[place]),
        "relevance": None if evidence.relevance is None else float(evidence.relevance[place]),
    }
    if evidence.attention_parts:
        word["attention_parts"] = {name: float(part[place]) for name, part in evidence.attention_parts.items()}
    return word
