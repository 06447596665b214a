"""Explanations for files and the terminal; :mod:`plant_plugin.model.page` makes a page.

An explanation is one dictionary, :class:`Explained`, whose types the OpenAPI page shows too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema
from typing_extensions import NotRequired, TypedDict

from plant_plugin.model.explanation import Explanation, LabelEvidence

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

WORDS = 20  # words of a label that JSON holds
SHOWN_PASSAGES, SHOWN_WORDS, SHOWN_TERMS = 5, 8, 5  # of a label, on the terminal


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
        "words": [_word(explanation, evidence, place) for place in evidence.strongest(words)],
        "planted_terms": [{"term": term, "contribution": value} for term, value in evidence.terms],
    }
    if evidence.faithfulness is not None:
        label["faithfulness"] = evidence.faithfulness
    return label


def _word(explanation: Explanation, evidence: LabelEvidence, place: int) -> Word:
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


def print_explanation(explanation: Explanation, console: Console) -> None:
    """Print a table for each label: its passages, then its strongest words with all their numbers."""
    from rich.text import Text

    # Text, not str, wherever a note's content goes: rich would take [brackets] in it for markup.
    console.print(Text(explanation.model, style="bold"))
    if not explanation.tokens:
        console.print("The document holds nothing that the model reads: its labels mean nothing.")
    if explanation.cut:
        console.print(f"The network read only the first {explanation.tokens:,} tokens.")
    for evidence in explanation.labels:
        console.print()
        console.print(Text(_heading(evidence), style="bold"))
        for passage in evidence.passages[:SHOWN_PASSAGES]:
            line = Text(f"  {passage.score:+.2f}  …")
            line.append(" ".join(passage.before.split()) + " ", style="dim")
            line.append(" ".join(explanation.text[passage.start : passage.end].split()), style="bold")
            line.append(" " + " ".join(passage.after.split()) + "…", style="dim")
            console.print(line)
        console.print(_table(explanation, evidence))
        if evidence.terms:
            named = ", ".join(f"{term} {value:+.2f}" for term, value in evidence.terms[:SHOWN_TERMS])
            console.print(Text(f"  planted scores: {named}"))


def _heading(evidence: LabelEvidence) -> str:
    scored = evidence.scored
    name = f" {scored.shown}" if scored.shown else ""
    below = "" if evidence.predicted else " (below the threshold)"
    parts = f"logit {scored.logit:+.2f}"
    if evidence.contribution is not None:
        planted = f" + planted scores {evidence.planted:+.2f}" if evidence.planted else ""
        words = float(evidence.contribution.sum()) + evidence.elsewhere
        parts += f" = words {words:+.2f} + label {evidence.bias:+.2f}{planted}"
    return f"{scored.label}{name}: {scored.probability:.1%}{below}, {parts}"


def _table(explanation: Explanation, evidence: LabelEvidence) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table("word", box=None, padding=(0, 2, 0, 2))
    for heading in ("contribution", "attention", "MIG", *evidence.attention_parts):
        table.add_column(heading, justify="right")
    for place in evidence.strongest(SHOWN_WORDS):
        word = _word(explanation, evidence, place)
        adds, relevance = word["contribution"], word["relevance"]
        table.add_row(
            Text(word["text"]),
            "–" if adds is None else f"{adds:+.2f}",
            f"{word['attention']:.1%}",
            "–" if relevance is None else f"{relevance:.2f}",
            *(f"{part:.3f}" for part in word.get("attention_parts", {}).values()),
        )
    return table
