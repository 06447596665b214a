"""Explanations on the terminal, or in a file that one of its commands writes."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

from plant_plugin.model.explanation import Explanation, LabelEvidence
from plant_plugin.model.formats import as_word

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

SHOWN, SHOWN_WORDS = 5, 8  # passages and terms of a label; words
LEAST_SHOWN = 0.005  # of a word's contribution: less is printed as 0.00


def print_explanation(explanation: Explanation, console: Console) -> None:
    """Print a table for each label: its passages, then its strongest words with all their numbers."""
    from rich.text import Text

    # Text, not str, wherever a note's content goes: rich would take [brackets] in it for markup.
    console.print(Text(explanation.model, style="bold"))
    sign = "" if console.is_terminal else "**"  # bold in a file, whose lines are not cut either
    print_line = partial(console.print, soft_wrap=bool(sign))
    if not explanation.tokens:
        console.print("The document holds nothing that the model reads: its labels mean nothing.")
    if explanation.cut:
        console.print(f"The network read only the first {explanation.tokens:,} tokens.")
    for evidence in explanation.labels:
        console.print()
        print_line(Text(_heading(evidence), style="bold"))
        for passage in evidence.passages[:SHOWN]:
            shown = passage.before, explanation.text[passage.start : passage.end], passage.after
            before, marked, after = (re.sub(r"\s+", " ", part) for part in shown)
            parts = (before, "dim"), (sign + marked + sign, "bold"), (after + "…", "dim")
            print_line(Text.assemble(f"  {passage.score:+.2f}  …", *parts))
        console.print(_table(explanation, evidence))
        for hint in evidence.scored.hints:
            print_line(Text(f"  hint: {hint['text']}"))
        if evidence.terms:
            named = ", ".join(f"{term} {value:+.2f}" for term, value in evidence.terms[:SHOWN])
            console.print(Text(f"  planted scores: {named}"))


def _heading(evidence: LabelEvidence) -> str:
    scored = evidence.scored
    below = "" if evidence.predicted else " (below the threshold)"
    parts = f"logit {scored.logit:+.2f}"
    if evidence.contribution is not None:
        planted = f" + planted scores {evidence.planted:+.2f}" if evidence.planted else ""
        words = float(evidence.contribution.sum()) + evidence.elsewhere
        parts += f" = words {words:+.2f} + label {evidence.bias:+.2f}{planted}"
    return f"{scored.label}{' ' * bool(scored.shown)}{scored.shown}: {scored.probability:.1%}{below}, {parts}"


def _table(explanation: Explanation, evidence: LabelEvidence) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table("word", box=None, padding=(0, 2, 0, 2))
    for heading in ("contribution", "attention", "MIG", *evidence.attention_parts):
        table.add_column(heading, justify="right")
    for place in evidence.strongest(SHOWN_WORDS):
        word = as_word(explanation, evidence, place)
        adds, relevance = word["contribution"], word["relevance"]
        if adds is not None and abs(adds) < LEAST_SHOWN:
            continue
        table.add_row(
            Text(word["text"]),
            "–" if adds is None else f"{adds:+.2f}",
            f"{word['attention']:.1%}",
            "–" if relevance is None else f"{relevance:.2f}",
            *(f"{part:.3f}" for part in word.get("attention_parts", {}).values()),
        )
    return table
