"""Intervals over seeds and documents: how often they hold the truth of simulated gains, and the verdicts."""

from __future__ import annotations

import numpy as np
import pytest

from plant_plugin.evaluation.verdict import BETTER, FEWEST, NO_DIFFERENCE, TOO_FEW, WORSE, Comparison, interval

DOCUMENTS, RESAMPLES, TRIALS = 60, 200, 400


def simulated(generator: np.random.Generator, seeds: int, deviations: tuple[float, float, float]) -> np.ndarray:
    """Gains of seeds on documents, (S, N), whose expectation is 0.

    The deviations are of what a seed gains everywhere, of what all seeds gain on a document, and of the rest.
    """
    of_seed, of_document, rest = deviations
    shared = of_document * generator.standard_normal(DOCUMENTS)
    alone = rest * generator.standard_normal((seeds, DOCUMENTS))
    return of_seed * generator.standard_normal((seeds, 1)) + shared + alone


def ends(gains: np.ndarray, drawn: np.ndarray) -> tuple[float, float]:
    """The interval of the mean of gains (S, N), of documents drawn in shares (R, N)."""
    low, high = interval(gains.mean(axis=1)[:, None], (drawn @ gains.T)[:, :, None])
    return float(low[0]), float(high[0])


def coverage(seeds: int, deviations: tuple[float, float, float]) -> tuple[float, float]:
    """How often 0 lies in the interval over seeds and documents, and in the one over documents alone."""
    generator, held = np.random.default_rng(1), np.zeros(2)
    for _ in range(TRIALS):
        gains = simulated(generator, seeds, deviations)
        drawn = generator.multinomial(DOCUMENTS, np.full(DOCUMENTS, 1 / DOCUMENTS), size=RESAMPLES) / DOCUMENTS
        intervals = ends(gains, drawn), ends(gains.mean(axis=0, keepdims=True), drawn)
        held += [low <= 0 <= high for low, high in intervals]
    return tuple(held / TRIALS)


@pytest.mark.integration
@pytest.mark.parametrize("seeds", [3, 5, 10])
@pytest.mark.parametrize(
    ("deviations", "documents_alone"),
    [
        pytest.param((1.0, 0.5, 0.5), (0.05, 0.4), id="seeds differ most"),
        pytest.param((0.15, 1.0, 0.3), (0.75, 0.95), id="seeds and documents differ alike"),
        pytest.param((0.0, 1.0, 0.1), (0.9, 1.0), id="documents alone differ"),
    ],
)
def test_nineteen_of_twenty_intervals_hold_the_truth(
    seeds: int, deviations: tuple[float, float, float], documents_alone: tuple[float, float]
) -> None:
    """Intervals over documents alone miss it where seeds differ: what this module is there for."""
    both, alone = coverage(seeds, deviations)
    assert 0.91 <= both <= 0.985
    assert documents_alone[0] <= alone <= documents_alone[1]


def test_what_seeds_and_documents_share_is_counted_twice_never_once() -> None:
    """Where all variance is of a document with a seed, both draws have it: the interval is wide, not narrow."""
    both, _ = coverage(3, (0.0, 0.1, 2.0))
    assert both >= 0.97


def test_below_the_fewest_seeds_the_interval_is_over_documents_alone() -> None:
    generator = np.random.default_rng(0)
    drawn = generator.multinomial(DOCUMENTS, np.full(DOCUMENTS, 1 / DOCUMENTS), size=RESAMPLES) / DOCUMENTS
    gains = simulated(generator, FEWEST, (1.0, 0.1, 0.1))
    mean_of_two = gains[: FEWEST - 1].mean(axis=0, keepdims=True)
    assert ends(gains[: FEWEST - 1], drawn) == pytest.approx(ends(mean_of_two, drawn))
    narrow, wide = (high - low for low, high in (ends(mean_of_two, drawn), ends(gains, drawn)))
    assert wide > 10 * narrow


def test_three_seeds_on_documents_that_do_not_matter_have_students_interval() -> None:
    gains = np.array([0.1, 0.2, 0.3])
    low, high = interval(gains[:, None], np.tile(gains[:, None], (20_000, 1, 1)))
    expected = 4.303 * gains.std(ddof=1) / np.sqrt(3)  # which the coarse draws of three come near to
    assert [low[0], high[0]] == pytest.approx([0.2 - expected, 0.2 + expected], abs=0.1 * expected)
    again = interval(gains[:, None], np.tile(gains[:, None], (20_000, 1, 1)))
    assert (low[0], high[0]) == (again[0][0], again[1][0])


@pytest.mark.parametrize(
    ("low", "high", "randomisation", "seeds", "expected"),
    [
        (0.1, 0.3, 0.01, 3, BETTER),
        (-0.3, -0.1, 0.01, 5, WORSE),
        (-0.1, 0.3, 0.01, 5, NO_DIFFERENCE),
        (0.1, 0.3, 0.06, 5, NO_DIFFERENCE),
        (0.1, 0.3, 0.01, 2, TOO_FEW),
        (-0.1, 0.3, 0.9, 1, TOO_FEW),
    ],
)
def test_verdicts(low: float, high: float, randomisation: float, seeds: int, expected: str) -> None:
    assert Comparison((low + high) / 2, low, high, randomisation, None, 1.0, seeds).verdict == expected
