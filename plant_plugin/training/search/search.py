"""A whole search on Ray Tune: the trials, the best one, and its training on all the documents there are."""

from __future__ import annotations

import contextlib
import json
import math
import os
import sys
import traceback
from collections.abc import Callable
from dataclasses import replace
from multiprocessing.pool import ThreadPool
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import ray
import yaml
from ray import tune
from ray.tune.schedulers import ASHAScheduler
from typing_extensions import override

from plant_plugin.config import load_config
from plant_plugin.config.values import Keys
from plant_plugin.errors import PlantError
from plant_plugin.files import remove, write_text
from plant_plugin.relevance.cluster import ADDRESS, cluster
from plant_plugin.report.logs import LOGS, evaluations, read_logs
from plant_plugin.report.machine import usable_cores
from plant_plugin.report.printed import printing
from plant_plugin.report.run_folder import own_folder
from plant_plugin.report.spreadsheets import no_formula
from plant_plugin.training.search.plan import PACKAGES, SearchPlan

if TYPE_CHECKING:
    from ray.tune.experiment import Trial

    from plant_plugin.report.result import Result

TRIALS, BEST = "trials", "best.yml"
CONFIG, LOG, FAILURE = "config.yml", "trial.log", "failure.txt"
STAY = (CONFIG, LOG, LOGS, FAILURE)  # files of a trial that is not the best
LOOK_SECONDS = 0.5  # how often the logs of a trial are read


class Table(tune.Callback):
    """The trials that have ended, the best first, in ``trials.csv`` too; models but that of the best are removed."""

    def __init__(self, plan: SearchPlan, folder: Path, say: Callable[[str], None], raw_csv: bool = False) -> None:
        self.plan, self.folder, self.say, self.raw_csv = plan, folder, say, raw_csv
        self.rows: list[Keys] = []

    @override
    def on_trial_complete(self, iteration: int, trials: list[Trial], trial: Trial, **info: object) -> None:
        self._add(trial, None)

    @override
    def on_trial_error(self, iteration: int, trials: list[Trial], trial: Trial, **info: object) -> None:
        path = self.folder / TRIALS / str(trial) / FAILURE
        lost = f"its process ended, as happens when memory runs out; see {LOG}"
        self._add(trial, path.read_text(encoding="utf-8") if path.is_file() else lost)

    def _add(self, trial: Trial, reason: str | None) -> None:
        metric, sign = self.plan.base.val_metric, -1 if self.plan.mode == "max" else 1
        results = {name: trial.last_result.get(name) for name in (metric, "training_iteration")}
        self.rows.append({"trial": str(trial), **results, **trial.config, "reason": reason})
        self.rows.sort(key=lambda row: (row["reason"] is not None, sign * (row[metric] or 0), row["trial"]))
        cells = self.rows if self.raw_csv else [dict(map(_cells, row.items())) for row in self.rows]
        write_text(self.folder / "trials.csv", pd.DataFrame(cells, dtype=object).to_csv(index=False))
        self.say(f"trial {trial}: {trial.config}, {metric} {results[metric]}" + (f", {reason}" if reason else ""))
        for row in self.rows[1:]:
            for path in (self.folder / TRIALS / row["trial"]).glob("*"):
                if path.name not in STAY:
                    remove(path)


def _cells(item: tuple[str, object]) -> tuple[str, object]:
    key, value = item
    return no_formula(key), no_formula(value) if isinstance(value, str) else value


def search(plan: SearchPlan, *, silent: bool = False, raw_csv: bool = False) -> Result:
    """Run the trials, choose by ``val_metric`` only, then train the best configuration again and test it.

    Writes into ``result_dir/DATA_CONFIG_TIME``: ``trials.csv``, ``trials/NUMBER``, ``best.yml`` and, from the second
    training, the run folder ``best``.

    Returns:
        The content of ``best/result.json``, or an empty dictionary where there is no test file.

    Raises:
        PlantError: Ray does not start, no trial has a value of ``val_metric``, or the second training fails.
    """
    from plant_plugin.training.run import run

    def say(text: str) -> None:
        if not silent:
            print(text, file=sys.stderr, flush=True)

    with own_folder(plan.base) as base:
        folder = base.checkpoint_dir.resolve()
        say(f"trials of {', '.join(plan.space)}, in {folder}")
        best = run_trials(plan, folder, say, raw_csv)[0]
        if best["reason"] is not None:
            fix = f"see trials.csv and trials/NUMBER/{LOG}, or train with trials/0001/{CONFIG}"
            raise PlantError(f"no trial has a value of {base.val_metric}", where=str(folder), fix=fix)
        say(f"best: trial {best['trial']}, {base.val_metric} {best[base.val_metric]}")
        write_yaml(folder / BEST, plan.configuration({key: best[key] for key in plan.space}))
        changes: Keys = {"silent": silent}
        if plan.options.no_retrain:
            if base.test_file is None:
                return {}
            changes |= {"eval": True, "checkpoint_path": str(folder / TRIALS / best["trial"])}
        config = load_config(folder / BEST, changes)  # `eval` is of a model that this search has written: trusted
        return run(replace(config, trust_code=config.eval, run_name="best", checkpoint_dir=folder / "best"))


def run_trials(plan: SearchPlan, folder: Path, say: Callable[[str], None], raw_csv: bool = False) -> list[Keys]:
    """Run all trials, each in a folder of its number, and return their rows of the table, the best first."""
    # Ctrl-C ends the search and not only its trials; Ray prints nothing.
    os.environ.update(TUNE_DISABLE_SIGINT_HANDLER="1", RAY_AIR_NEW_OUTPUT="0")
    options, base, names, table = plan.options, plan.base, dict[str, str](), Table(plan, folder, say, raw_csv)
    with cluster(cores=usable_cores()):
        machines = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        cores, cards = (int(max(machine.get(kind, 0) for machine in machines)) for kind in ("CPU", "GPU"))
        needs = {"cpu": min(options.cpu_count, cores), "gpu": 0 if base.cpu else min(options.gpu_count, cards)}
        work = tune.with_parameters(run_trial, plan=plan, folder=folder / TRIALS, working_folder=os.getcwd())
        tune_config = tune.TuneConfig(
            metric=base.val_metric,
            mode=plan.mode,
            num_samples=options.num_samples,
            search_alg=tune.create_searcher(
                options.search_alg if options.search_alg in PACKAGES else "random",
                seed=base.seed,  # of optuna
                random_state=base.seed,  # of the others
                random_search_steps=min(10, options.num_samples),  # Ray's own number, before bayesopt suggests
            ),
            scheduler=None if options.scheduler is None else ASHAScheduler(**options.scheduler),
            trial_name_creator=lambda trial: names.setdefault(trial.trial_id, f"{len(names) + 1:04}"),
        )
        notes = tune.RunConfig(name="tune", storage_path=str(folder), verbose=0, callbacks=[table])
        try:
            tune.Tuner(
                tune.with_resources(work, needs), param_space=plan.space, tune_config=tune_config, run_config=notes
            ).fit()
        finally:
            remove(folder / "tune")
    return table.rows


def run_trial(drawn: Keys, plan: SearchPlan, folder: Path, working_folder: str) -> None:
    """Train with what Ray Tune drew, and report the best value after each epoch from the first on that has one."""
    os.chdir(working_folder)  # where relative paths of the configuration begin
    os.environ.pop(ADDRESS, None)  # the trial keeps to its cores
    metric, trial_folder = plan.base.val_metric, folder / tune.get_context().get_trial_name()
    trial_folder.mkdir(parents=True)
    write_yaml(trial_folder / CONFIG, {**plan.configuration(drawn), "refit": "none"})
    with (
        open(trial_folder / LOG, "w") as log,
        contextlib.redirect_stdout(log),
        contextlib.redirect_stderr(log),
        printing(),
    ):
        training, reported, ended = ThreadPool(1).apply_async(train, (trial_folder,)), 0, False
        while not ended:
            training.wait(LOOK_SECONDS)
            ended = training.ready()
            values = read_values(trial_folder, metric)
            for epochs in range(reported + 1, len(values) + 1):
                tune.report({metric: max(values[:epochs]) if plan.mode == "max" else min(values[:epochs])})
            reported = max(reported, len(values))
        training.get()


def train(folder: Path) -> None:
    """Train the configuration of a trial's folder; the reason of a failure is written into the folder.

    Raises:
        RuntimeError: It failed, or no epoch has a value of ``val_metric``.
    """
    from plant_plugin.training.run import run

    try:
        config = load_config(folder / CONFIG)
        run(replace(config, run_name=folder.name, checkpoint_dir=folder), tests=False)
        if not read_values(folder, config.val_metric):
            fix = "give validation documents, epochs of stage 2, and the metric in monitor_metrics"
            raise PlantError(f"no epoch has a value of {config.val_metric} that is a number", fix=fix)
    except BaseException as error:  # also Lightning's SystemExit
        traceback.print_exc()
        # The message of a foreign error may quote a document.
        reason = error.format_message() if isinstance(error, PlantError) else f"{type(error).__name__}, see {LOG}"
        write_text(folder / FAILURE, reason)
        raise RuntimeError(reason) from error


def read_values(folder: Path, metric: str) -> list[float]:
    """Read the metric after each epoch where it is a number; nothing where the logs are just being written."""
    try:
        entries = evaluations(read_logs(folder / LOGS), "val")
    except (OSError, PlantError):
        return []
    values = [value for entry in entries for name, value in entry.items() if name.lower() == metric.lower()]
    return [value for value in values if value is not None and math.isfinite(value)]


def write_yaml(path: Path, values: Keys) -> None:
    """Write a configuration file, numbers of NumPy as Python's."""
    write_text(path, yaml.safe_dump(json.loads(json.dumps(values)), sort_keys=False, allow_unicode=True))
