"""LibMultiLabel's own models, trained and tested by LibMultiLabel's own functions."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from plant_plugin.errors import FullDiskError
from plant_plugin.files import is_full
from plant_plugin.host.settings import library_log, library_settings, quiet
from plant_plugin.report.scored import report

if TYPE_CHECKING:
    from plant_plugin.config import Config
    from plant_plugin.run import Run


def run_baseline(config: Config, run: Run) -> dict[str, Any]:
    """Train and test one of LibMultiLabel's models as its ``main.py`` would, then write ``result.json``.

    For the same configuration and seed the random numbers are drawn in the same order, so ``logs.json``,
    ``predictions.txt`` and the checkpoints hold what LibMultiLabel writes. Checkpoints of LibMultiLabel are pickles:
    evaluate only those that you trust.

    Args:
        config: ``model_name`` is one of LibMultiLabel's networks or ``AttentionXML``, or ``linear`` is set.
        run: Its folder and clock.

    Returns:
        The content of ``result.json``, or an empty dictionary when there is no test file.

    Raises:
        ConfigError: A value that LibMultiLabel cannot run with.
        DataError: A data file is missing or malformed.
        CheckpointError: A checkpoint that cannot be read or is for other labels.
        FullDiskError: The disk is full.
    """
    settings = library_settings(config, run)
    with library_log(settings.silent), quiet(settings.silent), _full_disk(run):
        if settings.linear:
            from plant_plugin.host.linear import run_linear

            scored = run_linear(settings, run)
        else:
            from plant_plugin.host.neural import run_network

            scored = run_network(settings, run)
        return report(config, run, scored)


@contextlib.contextmanager
def _full_disk(run: Run) -> Iterator[None]:
    """Say plainly that the disk is full when LibMultiLabel or Lightning stumbles over it."""
    try:
        yield
    except (OSError, RuntimeError) as error:
        if is_full(error):
            fix = "free some space, or choose another folder with --result_dir"
            raise FullDiskError("the disk is full", where=str(run.folder), fix=fix) from error
        raise
