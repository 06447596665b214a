"""From a network's logits, planted scores and what names say to log odds.

Their sum, less the offset, orders labels well, on a scale of its own. Last of all it is made log odds, with one slope
where it is above 0 and one where it is below; ``training/log_odds.py`` fits these.

Shapes: B texts, L labels.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from plant_plugin.relevance.mutual_information import Floats

SUM_ITSELF = {"slope_below": 1.0, "slope_above": 1.0}


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class LogOdds:
    """How all is added up, as it is before anything is chosen."""

    weight: float = 0.0  # γ, for each unit of planted scores
    offset: float = 0.0  # taken off every sum, so that the tuned threshold for micro-F1 is the probability 0.5
    slope_below: float = 1.0  # log odds for each unit of a sum that is below 0 then
    slope_above: float = 1.0  # and of one above 0

    def add_scores(self, logits: Floats, scores: Floats) -> None:
        """Add γ times the scores of B texts to the network's logits of the same labels, less the offset; in place.

        One after the other: near the threshold that became the offset the difference is then exact.
        """
        logits += np.float32(self.weight) * scores
        logits -= np.float32(self.offset)

    def slopes(self, sums: Floats) -> Floats:
        """Return what each of the sums is multiplied with."""
        return np.where(sums > 0, np.float32(self.slope_above), np.float32(self.slope_below))

    def make_log_odds(self, sums: Floats) -> None:
        """Make sums log odds, once all that adds to them is in them; in place. Signs stay."""
        sums *= self.slopes(sums)

    def add_last(self, logits: Floats, scores: Floats) -> None:
        """Do what :meth:`add_scores` does where nothing else joins, and make the sums log odds; in place."""
        self.add_scores(logits, scores)
        self.make_log_odds(logits)
