"""The weights of planted scores that validation documents choose, and what they make of scores.

Many phrases that say nearly the same must not outweigh one that is sure, so the sum x of a text's phrases is *bent*::

    bent(x) = ((1 + x)^(1 − b) − 1) / (1 − b)      b = 0: x itself;   b = 1: ln(1 + x);   b = 2: x / (1 + x), below 1

Source: ours; bent(x) is the q-logarithm of 1 + x (Tsallis 1994), with b in the place of q.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields

import numpy as np

from plant_plugin.evaluation.arrays import ArrayFile
from plant_plugin.relevance.mutual_information import Floats

BEFORE = {"bend": 0.0}  # what a model's folder says that was written before there was such a weight


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ChosenWeights:
    """The weights, as they are before any is chosen."""

    weight: float = 0.0  # γ, for each unit of planted scores
    adjustment: float = 0.0  # τ, what a unit of rarity adds to the linear score
    name_weight: float = 0.0  # ν, with which names are in the linear weights
    linear_weight: float = 1.0  # λ
    sentence_weight: float = 0.0  # σ
    bend: float = 0.5  # b of the sum of phrases

    @property
    def chosen(self) -> dict[str, float]:
        """Return the weights by name."""
        return {name: float(getattr(self, name)) for name in CHOSEN}

    def bent(self, sums: Floats) -> Floats:
        """Return sums of phrases, each 0 or more, as they count."""
        power = np.float32(1 - self.bend)
        bent: Floats = np.log1p(sums) if power == 0 else np.expm1(power * np.log1p(sums)) / power  # type: ignore[assignment]
        return sums if power == 1 else bent

    def bent_shares(self, shares: Iterable[float]) -> list[float]:
        """Return what each of several phrases adds to the bent sum of all: its share of it."""
        shares = np.fromiter(shares, np.float32)
        total = shares.sum()
        scaled: list[float] = (shares * (self.bent(total) / total) if total else shares).tolist()
        return scaled


CHOSEN = tuple(field.name for field in fields(ChosenWeights))


def read_chosen(arrays: ArrayFile) -> dict[str, float]:
    """Read the weights by name from the arrays of a model's folder, which may be older than one of them."""
    return BEFORE | {name: arrays.number(name) for name in CHOSEN if name in arrays or name not in BEFORE}
