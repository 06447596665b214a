"""A label that a model gives a document, and hints to whoever decides on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field
from typing_extensions import NotRequired, TypedDict


class Hint(TypedDict):
    """What a rule says of a code beside the others of its document, see :mod:`plant_plugin.model.coding_rules`."""

    rule: Annotated[
        str,
        Field(description="unknown, not_billable, seventh_character, laterality, excludes1, code_first, code_also or "
              "use_additional_code."),
    ]  # fmt: skip
    text: Annotated[str, Field(description="The rule in words, of the code system's and of no document.")]
    codes: NotRequired[Annotated[list[str], Field(description="Those that it is about.")]]
    start: NotRequired[Annotated[int, Field(description="Of the word that says another side, in characters.")]]
    end: NotRequired[int]


@dataclass(frozen=True)
class ScoredLabel:
    """A label that was predicted.

    Attributes:
        label: As in the training files.
        probability: In [0, 1].
        logit: The score that the probability is made of.
        name: The label's name, where that is known.
        seen: Whether a training document had it; otherwise only its name makes it known.
        hints: What rules of its code system say of it beside the others, where they were asked.
    """

    label: str
    probability: float
    logit: float
    name: str | None = None
    seen: bool = True
    hints: tuple[Hint, ...] = ()

    @property
    def shown(self) -> str:
        """Return the name as a reader sees it, empty where there is none."""
        return f"{self.name or ''} {'' if self.seen else '(never seen in training)'}".strip()
