"""LibMultiLabel's own models, trained and tested by LibMultiLabel's own functions."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plant_plugin.errors import FullDiskError
from plant_plugin.files import is_full
from plant_plugin.host.attention_xml import AttentionXMLBaseline
from plant_plugin.host.linear import run_linear
from plant_plugin.host.neural import NetworkBaseline, epochs_kept, run_network
from plant_plugin.host.settings import library_log, library_settings, quiet
from plant_plugin.report.scored import report, tuned_thresholds

if TYPE_CHECKING:
    from libmultilabel.common_utils import AttributeDict

    from plant_plugin.config import Config
    from plant_plugin.report.run import Run
    from plant_plugin.report.scored import Scored


def run_baseline(config: Config, run: Run) -> dict[str, Any]:
    """Train and test one of LibMultiLabel's models as its ``main.py`` would, then write ``result.json``.

    For the same configuration and seed the random numbers are drawn in the same order, so ``logs.json``,
    ``predictions.txt`` and the checkpoints hold what LibMultiLabel writes. Checkpoints of LibMultiLabel are pickles:
    evaluate only those that you trust.

    With ``refit: train+val`` LibMultiLabel trains twice, the second time as with its own ``merge_train_val``.

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
    train = run_linear if settings.linear else _run_network
    with library_log(settings.silent), quiet(settings.silent), _full_disk(run):
        if settings["refit"] == "none":
            return report(config, run, train(settings, run))
        thresholds = None if settings.eval else _first_thresholds(settings, run, train)
        settings["merge_train_val"] = True
        return report(config, run, train(settings, run), thresholds)


def _run_network(settings: AttributeDict, run: Run) -> Scored:
    kind = AttentionXMLBaseline if settings.model_name.lower() == "attentionxml" else NetworkBaseline
    return run_network(kind(settings, run))


def _first_thresholds(settings: AttributeDict, run: Run, train: Callable[[AttributeDict, Run], Scored]) -> Any:
    """Train a first time, in a folder of its own, for thresholds and for the epochs of the second time."""
    with run.first_pass() as first:
        own = copy.copy(settings)
        own["checkpoint_dir"], own["log_path"] = str(first.folder), str(first.folder / Path(settings["log_path"]).name)
        thresholds = tuned_thresholds(first, train(own, first))
    epochs = {}
    if not settings["linear"]:
        epochs = epochs_kept(first.folder)
    run.train_again(epochs)
    return thresholds


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
