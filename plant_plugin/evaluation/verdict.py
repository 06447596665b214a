"""What a gain comes to over seeds and documents: its interval, and whether it is one. Every table takes both from here.

All seeds are tested on the same documents. So a resample draws seeds and documents, each with replacement and by
themselves, and its gain is that of the drawn seeds on the drawn documents. Documents drawn anew for each seed would
average out what documents differ in.

A few seeds, drawn with replacement, differ less than seeds do, and their deviation is hardly known. So what seeds add
to a draw counts √(S / (S − 1)) times, and the interval is wider by Student's t over the normal quantile, of as many
degrees of freedom as the variances between seeds and between documents have together.

Below ``FEWEST`` seeds the interval is over documents alone, and there is no verdict.

Source: Owen, The pigeonhole bootstrap, Annals of Applied Statistics 1 (2007) 386-411; Hesterberg, What Teachers Should
Know About the Bootstrap, The American Statistician 69 (2015) 371-386; Satterthwaite, An Approximate Distribution of
Estimates of Variance Components, Biometrics Bulletin 2 (1946) 110-114.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
LEVEL = 0.95  # of the interval
FEWEST = 3  # seeds of a verdict
BETTER, WORSE, NO_DIFFERENCE, TOO_FEW = "better", "worse", "no difference", "too few seeds"


def verdict(gain: float, seeds: int, *, beyond_chance: bool) -> str:
    """Name what a gain comes to, from as many pairs of seeds."""
    if seeds < FEWEST:
        return TOO_FEW
    if not beyond_chance:
        return NO_DIFFERENCE
    return BETTER if gain > 0 else WORSE


@dataclass(frozen=True)
class Comparison:
    """One metric of a system against a baseline; p-values are two-sided and of the documents.

    Attributes:
        gain: System minus baseline, mean over pairs of seeds.
        low: Where the interval of the gain begins.
        high: Where it ends.
        randomisation: p of approximate randomisation.
        wilcoxon: p of Wilcoxon's test; None where the metric is no mean over documents or labels.
        folds: p of Wilcoxon's test over ten parts of the documents; every part a random one.
        seeds: How many pairs of seeds.
    """

    gain: float
    low: float
    high: float
    randomisation: float
    wilcoxon: float | None
    folds: float
    seeds: int

    @property
    def verdict(self) -> str:
        """Name what it comes to: the interval lies on one side of 0, and documents exchanged by chance gain less."""
        beyond_chance = self.randomisation < 1.0 - LEVEL and (self.low > 0 or self.high < 0)
        return verdict(self.gain, self.seeds, beyond_chance=beyond_chance)


def interval(gains: Floats, resampled: Floats, seed: int = 0) -> tuple[Floats, Floats]:
    """Return both ends of the intervals of mean gains, (M,) each.

    Args:
        gains: Of each pair of seeds, (S, M).
        resampled: The same on the documents of each resample, (R, S, M).
        seed: Of the draws of seeds.
    """
    observed, of_documents, seeds = gains.mean(axis=0), resampled.mean(axis=1), len(gains)
    spread = of_documents - observed
    if seeds >= FEWEST:
        drawn = np.einsum("rs,rsm->rm", _drawn_seeds(seeds, len(resampled), seed), resampled)
        spread += math.sqrt(seeds / (seeds - 1)) * (drawn - of_documents)
        spread *= _widening(gains.var(axis=0, ddof=1) / seeds, of_documents.var(axis=0), seeds)
    tail = (1.0 - LEVEL) / 2.0
    low, middle, high = np.quantile(spread, [tail, 0.5, 1.0 - tail], axis=0)
    return observed - (middle - low), observed + (high - middle)


@functools.cache
def _drawn_seeds(seeds: int, resamples: int, seed: int) -> Floats:
    """Draw the share that each seed has in each resample, (R, S)."""
    generator = np.random.default_rng((seed, seeds))
    return generator.multinomial(seeds, np.full(seeds, 1.0 / seeds), size=resamples) / seeds


def _widening(of_seeds: Floats, of_documents: Floats, seeds: int) -> Floats:
    """Divide Student's quantile by the normal one, for a sum of two variances; documents are many."""
    from scipy.stats import norm, t

    share = of_seeds / np.maximum(of_seeds + of_documents, np.finfo(np.float64).tiny)
    freedom = (seeds - 1) / np.maximum(share**2, np.finfo(np.float32).eps)
    quantile = (1.0 + LEVEL) / 2.0
    return np.asarray(t.ppf(quantile, freedom) / norm.ppf(quantile))
