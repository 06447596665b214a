"""From sums of a network's logits, planted scores and what names say to log odds.

Such a sum orders labels well, on a scale of its own. Last of all it becomes the log odds of being true: so many at the
threshold of micro-F1, and more or less with the distance from there, by one slope above it and another below.
``training/log_odds.py`` fits these.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from torch import Tensor

from plant_plugin.evaluation.arrays import ArrayFile
from plant_plugin.relevance.mutual_information import Floats
from plant_plugin.relevance.planted_scores import ARRAYS

Sums = TypeVar("Sums", Floats, Tensor)


@dataclass(frozen=True)
class LogOdds:
    """What makes sums log odds; before anything is fitted they stay as they are."""

    offset: float = 0.0  # taken off every sum: the tuned threshold for micro-F1
    slope_below: float = 1.0  # log odds for each unit of a sum that is below 0 then
    slope_above: float = 1.0  # and of one above 0
    at_offset: float = 0.0  # log odds of one that is 0

    def of(self, sums: Sums) -> Sums:
        """Return the log odds of sums, once all that adds to them is in them; their order stays."""
        left = sums - self.offset
        scaled = left.clip(min=0) * self.slope_above + left.clip(max=0) * self.slope_below
        return scaled + self.at_offset  # type: ignore[return-value]


NOT_FITTED = LogOdds()


def read_before(folder: Path) -> dict[str, float]:
    """Read the same of a model that was written when it lay beside its planted scores."""
    arrays = ArrayFile.read(folder / ARRAYS, "planted scores", fix="train anew")
    return {name: arrays.number(name) for name in vars(NOT_FITTED) if name in arrays}
