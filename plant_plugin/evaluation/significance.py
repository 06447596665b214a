"""Is a system better than another on these documents? Three answers, paired document by document.

- *Paired bootstrap*: both systems on the same documents drawn with replacement; the 95 % interval of the gain.
- *Approximate randomisation*: exchange the two systems' outputs on a random half of the documents; how often is the
  gain at least as far from 0 as the one observed? (For the AUCs, the places of each document's true labels.)
- *Wilcoxon signed-rank*: over documents, or over labels for the macro metrics.

Source: Efron and Tibshirani, An Introduction to the Bootstrap (1993), percentile interval; Noreen, Computer-Intensive
Methods for Testing Hypotheses (1989), approximate randomisation with (r + 1) / (R + 1); scipy.stats.wilcoxon.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from plant_plugin.evaluation.names import Metric
from plant_plugin.evaluation.resampling import DocumentSums

Floats = npt.NDArray[np.float64]
ROUNDING = 1e-12  # gains this close count as equal
BLOCK_ELEMENTS = 2_000_000  # counts of labels times weightings in memory at a time


@dataclass(frozen=True)
class Comparison:
    """One metric of a system against a baseline.

    Attributes:
        gain: System minus baseline, each a mean over its seeds.
        low: Lower end of the bootstrap interval of the gain.
        high: Upper end.
        randomisation: p of approximate randomisation, two-sided.
        wilcoxon: p of the signed-rank test, two-sided; None where the metric is no mean over documents or labels.
        significant: The randomisation test passes at 1 - level, and the interval lies on one side of 0.
    """

    gain: float
    low: float
    high: float
    randomisation: float
    wilcoxon: float | None
    significant: bool


def compare_documents(
    system: Sequence[DocumentSums],
    baseline: Sequence[DocumentSums],
    *,
    resamples: int = 1000,
    seed: int = 0,
    level: float = 0.95,
) -> dict[str, Comparison]:
    """Test every metric of a system against a baseline on the same documents.

    Args:
        system: Its seeds; each of the same metrics, documents and label columns as all others here.
        baseline: The baseline's seeds. A metric of several seeds is the mean of theirs, in each resample too. For the
            randomisation, as many seeds of either side are paired as both have, in the order given.
        resamples: B of the bootstrap and of the randomisation, at least 1.
        seed: Of the random draws.
        level: Of the interval; 1 - level is that of the test.

    Returns:
        Metric's name -> comparison.
    """
    metrics, number = system[0].metrics, system[0].above.shape[0]
    observed = _mean(system, np.ones((1, number)))[0] - _mean(baseline, np.ones((1, number)))[0]
    pairs = list(zip(system, baseline, strict=False))
    paired = np.mean([_exchange_gain(pair, np.zeros((1, number))) for pair in pairs], axis=0)[0]
    generator = np.random.default_rng(seed)
    size = max(1, BLOCK_ELEMENTS // max(number, system[0].num_labels))
    gains, exceeding = [], np.zeros(len(metrics))
    for start in range(0, resamples, size):
        block = min(size, resamples - start)
        drawn = generator.multinomial(number, np.full(number, 1.0 / number), size=block).astype(np.float64)
        gains.append(_mean(system, drawn) - _mean(baseline, drawn))
        exchanged = generator.integers(0, 2, size=(block, number)).astype(np.float64)
        by_chance = np.mean([_exchange_gain(pair, exchanged) for pair in pairs], axis=0)
        exceeding += (np.abs(by_chance) >= np.abs(paired) - ROUNDING).sum(axis=0)
    tail = (1.0 - level) / 2.0
    low, high = np.quantile(np.concatenate(gains), [tail, 1.0 - tail], axis=0)
    p_values = (exceeding + 1.0) / (resamples + 1.0)
    return {
        metric.name: Comparison(
            float(observed[column]),
            float(low[column]),
            float(high[column]),
            float(p_values[column]),
            _wilcoxon(system, baseline, metric),
            bool(p_values[column] < 1.0 - level and (low[column] > 0 or high[column] < 0)),
        )
        for column, metric in enumerate(metrics)
    }


def _mean(runs: Sequence[DocumentSums], weights: Floats) -> Floats:
    """Metrics under each weighting, mean over seeds, (B, metrics)."""
    return np.asarray(np.mean([run.resampled(weights) for run in runs], axis=0))


def _exchange_gain(pair: tuple[DocumentSums, DocumentSums], exchanged: Floats) -> Floats:
    """The gain of the first over the second after the marked documents (B, N) changed sides."""
    first, second = pair
    kept = 1.0 - exchanged
    one = first.values(first.sums(kept) + second.sums(exchanged))
    other = second.values(first.sums(exchanged) + second.sums(kept))
    return one - other


def _wilcoxon(system: Sequence[DocumentSums], baseline: Sequence[DocumentSums], metric: Metric) -> float | None:
    from scipy.stats import wilcoxon

    ours, theirs = ([run.per_unit(metric) for run in runs] for runs in (system, baseline))
    if any(values is None for values in (*ours, *theirs)):
        return None
    difference = np.mean(np.stack(ours), axis=0) - np.mean(np.stack(theirs), axis=0)  # type: ignore[arg-type]
    # In whole units: what differs by the order of a sum alone, which processors choose, is a tie and shares a rank.
    difference = np.rint(difference / ROUNDING)
    if not difference.any():
        return 1.0
    return float(wilcoxon(difference, method="approx").pvalue)
