"""Explanations on the terminal, or in a file that one of its commands writes."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

from plant_plugin.evaluation.said import signed
from plant_plugin.model.explanation import Explanation, LabelEvidence
from plant_plugin.model.known_words import NOTHING_KNOWN
from plant_plugin.model.word_table import word_table

if TYPE_CHECKING:
    from rich.console import Console

SHOWN = 5  # passages and terms of a label


def print_explanation(explanation: Explanation, console: Console) -> None:
    """Print a table for each label: its passages, then its strongest words with all their numbers."""
    from rich.text import Text

    # Text, not str, wherever a note's content goes: rich would take [brackets] in it for markup.
    console.print(Text(explanation.model, style="bold"))
    sign = "" if console.is_terminal else "**"  # bold in a file, whose lines are not cut either
    print_line = partial(console.print, soft_wrap=bool(sign))
    if not explanation.tokens:
        console.print(NOTHING_KNOWN)
    if explanation.cut:
        console.print(f"The network read only the first {explanation.tokens:,} tokens.")
    for evidence in explanation.labels:
        console.print()
        print_line(Text(_heading(evidence), style="bold"))
        for passage in evidence.passages[:SHOWN]:
            shown = passage.before, explanation.text[passage.start : passage.end], passage.after
            before, marked, after = (re.sub(r"\s+", " ", part) for part in shown)
            strong = f"{sign}{marked}{sign}", "bold"
            print_line(Text.assemble(f"  {signed(passage.score)}  …", (before, "dim"), strong, (f"{after}…", "dim")))
        console.print(word_table(explanation, evidence))
        for hint in evidence.scored.hints:
            print_line(Text(f"  hint: {hint['text']}"))
        if evidence.terms:
            named = ", ".join(f"{term} {signed(value)}" for term, value in evidence.terms[:SHOWN])
            console.print(Text(f"  planted scores: {named}"))


def _heading(evidence: LabelEvidence) -> str:
    scored = evidence.scored
    below = "" if evidence.predicted else " (below the threshold)"
    parts = f"logit {signed(scored.logit)}"
    if evidence.contribution is not None:
        planted = f" + planted scores {signed(evidence.planted)}" if evidence.planted else ""
        words = float(evidence.contribution.sum()) + evidence.elsewhere
        parts += f" = words {signed(words)} + label {signed(evidence.bias)}{planted}"
    return f"{scored.label}{' ' * bool(scored.shown)}{scored.shown}: {scored.probability:.1%}{below}, {parts}"
