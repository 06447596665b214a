"""One run of ``libmultilabel``, from a configuration to ``result.json``: begin reading with :func:`train`."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import lightning as L

from plant_plugin.config import Config, registry
from plant_plugin.errors import PlantError
from plant_plugin.networks.kernels import triton_choice
from plant_plugin.networks.plantable import PlantableNetwork
from plant_plugin.report.logs import shorten_log, write_log_config
from plant_plugin.report.metric_log import MetricLog
from plant_plugin.report.record import found_again
from plant_plugin.report.result import report, tuned_thresholds
from plant_plugin.report.run import Run
from plant_plugin.training.build import build_network, load, save
from plant_plugin.training.devices import first_alone, from_first, is_first, together
from plant_plugin.training.frozen_states import add_frozen_states
from plant_plugin.training.prepare import Prepared, mark_tokens, prepare
from plant_plugin.training.refit import trained_once
from plant_plugin.training.resume import (
    finish,
    full_disk_resumes,
    has_ended,
    read_result,
    same_data,
    sigterm_stops,
)
from plant_plugin.training.scoring import assist, score_batches, scored
from plant_plugin.training.stage import warn_of_slow_bf16
from plant_plugin.training.stage1 import run_stage1
from plant_plugin.training.stage2 import run_stage2
from plant_plugin.training.weights import fit_scores, plant_weight

Stages = dict[str, Callable[[PlantableNetwork, Prepared, Config, Run], None]]


def run(config: Config, *, tests: bool = True) -> dict[str, Any]:
    """Train and, unless ``tests`` is false, test what the configuration names.

    Returns:
        The content of ``result.json``, or an empty dictionary when there was nothing to test.
    """
    config = found_again(config)
    if config.devices * config.num_nodes == 1 and os.environ.get("WORLD_SIZE", "1") == "1":
        return _one_process(config, tests=tests)
    return together(config, functools.partial(_one_process, tests=tests))


def plant(config: Config, run: Run) -> dict[str, Any]:
    """Stage 1 plants the attention, stage 2 trains everything.

    Returns:
        The content of ``result.json``, or an empty dictionary without a test split.
    """
    return _guarded(config, run, {"stage1": run_stage1, "stage2": run_stage2})


def end_to_end(config: Config, run: Run) -> dict[str, Any]:
    """Stage 2 only, on the same network (a configured prior included).

    Returns:
        The content of ``result.json``, or an empty dictionary without a test split.
    """
    return _guarded(config, run, {"stage2": run_stage2})


def planted_scores(config: Config, run: Run) -> dict[str, Any]:
    """The planted scores alone: what they are without the configured network, in the time that they take.

    Returns:
        The content of ``result.json``, or an empty dictionary without a test split.
    """
    return _guarded(config, run, {})


def train(config: Config, run: Run, stages: Stages, thresholds: Mapping[str, float] | None = None) -> dict[str, Any]:
    """From files to a tested model: the whole method, step by step.

    Args:
        config: The configuration.
        run: Its folder and clock.
        stages: What trains the network, in this order.
        thresholds: Those of a first training; None: tuned on validation documents.

    Returns:
        The content of ``result.json``, or an empty dictionary without a test split.
    """
    with first_alone():  # the other processes find the files that the first one made
        prepared = prepare(config, run)
        same_data(config, run, prepared)
        phrases = fit_scores(prepared, config, run)
        network = build_network(prepared, config, run, planted="stage1" in stages)
        mark_tokens(prepared, config, phrases, prior=network.has_prior, stage1="stage1" in stages)
        add_frozen_states(network, prepared, config, run)
    for stage, train_stage in stages.items():
        with run.phase(stage):
            train_stage(network, prepared, config, run)
    if not is_first():
        return assist(network, prepared, config, run)
    plant_weight(prepared, config, run, lambda: score_batches(network, prepared, config, "val"))
    if thresholds is None:
        thresholds = tuned_thresholds(run, scored(network, prepared, config, run))
    save(run.folder, network, prepared, config, thresholds)
    result = _tested(network, prepared, config, run, thresholds)
    finish(run)
    return result


def test_again(config: Config, run: Run) -> dict[str, Any]:
    """``eval: true``: test a trained model.

    Returns:
        The content of ``result.json``.
    """
    with first_alone():
        network, prepared, thresholds = load(config, run)
    if not is_first():
        return assist(network, prepared, config, run)
    return _tested(network, prepared, config, run, thresholds)


def _tested(
    network: PlantableNetwork, prepared: Prepared, config: Config, run: Run, thresholds: Mapping[str, float]
) -> dict[str, Any]:
    write_log_config(config.log_path, run.asked)
    shorten_log(config.log_path, {"test": 0})  # of a run that was killed behind its test
    run.metrics.go_on("test", 0)
    return report(config, run, scored(network, prepared, config, run), thresholds)


def _one_process(config: Config, writes: bool = True, *, tests: bool) -> dict[str, Any]:
    """One of the processes of a run."""
    record = Run(Path(config.checkpoint_dir), silent=config.silent, tests=tests, writes=writes)
    try:
        if config.linear or not registry.get("networks", config.model_name).ours:
            from plant_plugin.host.baseline import run_baseline  # imports LibMultiLabel, seconds

            return run_baseline(config, record)
        strategy = registry.get("strategies", config.strategy).load()
        result: dict[str, Any] = strategy(config, record)
    except PlantError:
        record.remove_empty_folder()
        raise
    return result


def _guarded(config: Config, run: Run, stages: Stages) -> dict[str, Any]:
    """Train, or test, where a stop, a full disk and an earlier end of the same run are provided for."""
    triton_choice.choose(config.kernels)
    with contextlib.ExitStack() as stack:
        stack.enter_context(sigterm_stops(config, run))
        stack.enter_context(full_disk_resumes(config, run))
        if is_first():
            run.metrics = stack.enter_context(contextlib.closing(MetricLog(config, run.folder)))
            warn_of_slow_bf16(config)
        run.asked, thresholds = config.as_dict(), None
        if not config.eval and from_first(lambda: has_ended(config, run)):
            run.log("this run has ended before; these are its results")
            return read_result(run.folder) if is_first() else {}
        if config.refit != "none":
            config, thresholds = trained_once(config, run, functools.partial(_guarded, stages=stages))
        L.seed_everything(config.seed if config.seed is not None else 0, workers=True, verbose=False)
        return test_again(config, run) if config.eval else train(config, run, stages, thresholds)
