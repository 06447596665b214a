"""Hints to whoever decides on labels, beside predictions and explanations; see :mod:`plant_plugin.model.coding_rules`.

Which side of the body a text says is looked for where it speaks for a code: in the passages that are named for it, as
far as they are half as strong as the strongest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from plant_plugin.data.unicode_forms import composed
from plant_plugin.errors import ConfigError
from plant_plugin.model.coding_rules import rules_for
from plant_plugin.model.explanation import Explanation, LabelEvidence, explain
from plant_plugin.model.scored_label import Hint, ScoredLabel
from plant_plugin.model.sides import Side, sides_said
from plant_plugin.model.trained import ReadyModel

SPEAKS = 0.5  # of the strongest passage's score


def with_hints(predictor: ReadyModel, explanation: Explanation) -> Explanation:
    """Return an explanation with the hints for its labels; the same where no rules are known for them."""
    rules = rules_for(tuple(predictor.labels))
    if rules is None:
        return explanation
    hints = rules.hints([label.scored.label for label in explanation.labels], _said(explanation))
    return replace(
        explanation, labels=[replace(label, scored=_hinted(label.scored, hints)) for label in explanation.labels]
    )


def hinted(predictor: ReadyModel, text: str, labels: Sequence[ScoredLabel]) -> list[ScoredLabel]:
    """Return the labels of a text with their hints; the words are asked only for codes that name a side.

    Raises:
        ConfigError: No rules are known for the model's labels.
    """
    rules = rules_for(tuple(predictor.labels))
    if rules is None:
        what, fix = "rules are known for codes of ICD-10-CM, and the labels are none", "leave it out"
        raise ConfigError(what, where="--rules", fix=fix)
    said: dict[str, list[Side]] = {}
    codes = [label.label for label in labels]
    if sided := [code for code in codes if rules.sided(code) and code in predictor.column_of]:
        with suppress(ConfigError):  # the network shows no attention, or its tokenizer no places
            said = _said(explain(predictor, composed(text), sided))
    hints = rules.hints(codes, said)
    return [_hinted(label, hints) for label in labels]


def _said(explanation: Explanation) -> dict[str, list[Side]]:
    """Return the sides that the words that speak for each label say."""
    return {label.scored.label: sides_said(explanation.text, _speaking(label)) for label in explanation.labels}


def _speaking(label: LabelEvidence) -> Iterator[tuple[int, int]]:
    """Yield where a text speaks for a label."""
    least = SPEAKS * max((passage.score for passage in label.passages), default=0.0)
    yield from ((passage.start, passage.end) for passage in label.passages if passage.score >= least)


def _hinted(label: ScoredLabel, hints: dict[str, list[Hint]]) -> ScoredLabel:
    return replace(label, hints=tuple(hints.get(label.label, ())))
