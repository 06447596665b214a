"""Runs and results side by side: from their paths to the table of a comparison."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

from plant_plugin.data.several import several
from plant_plugin.report import compare as of_systems
from plant_plugin.report.published import Published
from plant_plugin.report.read_systems import left_out, load_systems


def compare(
    results: Sequence[str | Path],
    baseline: str,
    *,
    metrics: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    published: Published | None = None,
    pairs: Sequence[tuple[str, str]] = (),
    resamples: int = 1000,
    say: Callable[[str], None] = warnings.warn,
) -> of_systems.Table:
    """Compare results with a baseline, as ``plant compare`` does.

    Args:
        results: Run folders or files; ``NAME=PATH`` names a system, and those of one name are its seeds.
        baseline: The name of the system that the others are tested against.
        metrics: Names of metrics, of which some result has to have each; None for ``columns``.
        columns: The same, as far as any result has them; None for the usual ones.
        published: What papers report of the benchmark, as further rows.
        pairs: Names of two systems each: what the first gains over the second, whose mean over all pairs is tested.
        resamples: How many samples bootstrap and randomisation draw.
        say: Is called with a sentence for each run that is left out.

    Raises:
        ConfigError: No result is called like the baseline.
        DataError: No run has ended, or they were tested on different documents.
    """
    paths = [*map(str, several(results, "results"))]
    reasons = left_out(paths, baseline)
    for left, reason in reasons.items():
        say(f"Note: {left} is left out: {reason}.")
    return of_systems.compare(
        load_systems([path for path in paths if path not in reasons]),
        baseline,
        metrics=metrics,
        columns=columns,
        published=published,
        pairs=pairs,
        resamples=resamples,
    )
