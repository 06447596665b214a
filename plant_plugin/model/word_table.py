"""The strongest words of a label as a table on the terminal."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from plant_plugin.evaluation.said import signed
from plant_plugin.model.explanation import Explanation, LabelEvidence
from plant_plugin.model.trained import Floats

if TYPE_CHECKING:
    from rich.table import Table

SHOWN_WORDS = 8
LEAST_SHOWN = 0.005  # of a word's contribution: less is printed as 0.00


def word_table(explanation: Explanation, evidence: LabelEvidence) -> Table:
    """Return a row for each word, with the numbers that the model has of it."""
    from rich.table import Table
    from rich.text import Text

    table = Table("word", box=None, padding=(0, 2, 0, 2))
    columns: dict[str, tuple[Floats | None, Callable[[float], str]]] = {
        "contribution": (evidence.contribution, signed),
        "attention": (evidence.attention, "{:.1%}".format),
        "MIG": (evidence.relevance, "{:.2f}".format),
        **{name: (part, "{:.3f}".format) for name, part in evidence.attention_parts.items()},
    }
    shown = {name: (values, say) for name, (values, say) in columns.items() if values is not None and values.any()}
    for heading in shown:
        table.add_column(heading, justify="right")
    for place in evidence.strongest(SHOWN_WORDS):
        if evidence.contribution is None or abs(evidence.strength[place]) >= LEAST_SHOWN:
            word = explanation.text[slice(*explanation.words[place])]
            table.add_row(Text(word), *(say(float(values[place])) for values, say in shown.values()))
    return table
