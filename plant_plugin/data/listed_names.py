"""Names of labels that can be asked for one label, and listed for all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from plant_plugin.data.vocabularies import LabelName, Names


@dataclass(frozen=True)
class ListedNames:
    """From a label to its preferred name, or to None where no source knows it.

    Attributes:
        sources: Asked in this order.
        rows: All names of all labels that the sources have; they are read anew at each call.
    """

    sources: Sequence[Names]
    rows: Callable[[], list[LabelName]]

    def __call__(self, label: str) -> str | None:
        """Return the preferred name of a label."""
        return next((name for names in self.sources if (name := names(label))), None)
