"""A whole search: the trials, the best one, and its training on all the documents there are."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from plant_plugin.config import Config, load_config, registry
from plant_plugin.errors import MissingExtraError, PlantError
from plant_plugin.training.search.plan import INSTALL, SearchPlan
from plant_plugin.training.search.space import put
from plant_plugin.training.search.trial import LOG, best_epoch, read_values, write_configuration
from plant_plugin.training.search.trials import Trial, Trials

BEST = "best.yml"
SHOWN_REASONS = 5


def search(plan: SearchPlan, *, silent: bool = False) -> dict[str, Any]:
    """Run the trials, choose by ``val_metric`` alone, then train the best configuration again and test it.

    Writes into ``result_dir/DATA_CONFIG_TIME``: ``trials.csv`` and ``trials.json``, ``trials/NUMBER``, ``best.yml``
    and, from the second training, the run folder ``best``.

    Args:
        plan: A checked search.
        silent: Print nothing but errors.

    Returns:
        The content of ``best/result.json``, or an empty dictionary where there is no test file.

    Raises:
        MissingExtraError: Ray Tune cannot be imported.
        PlantError: Ray does not start, no trial has a value of ``val_metric``, or the second training fails.
    """
    try:
        from plant_plugin.training.search.tuning import run_trials
    except ImportError as error:
        raise MissingExtraError(f"Ray Tune cannot be imported ({error.name})", fix=INSTALL) from error

    def say(text: str) -> None:
        if not silent:
            print(text, file=sys.stderr, flush=True)

    folder = plan.base.checkpoint_dir.resolve()
    trials = Trials(folder, plan.base.val_metric, plan.mode)
    trials.write()
    say(f"{plan.num_trials} trials of {', '.join(each.key for each in plan.expressions)}, in {folder}")
    run_trials(plan, folder / "trials", say, _telling(plan, trials, say))
    best = trials.best
    if best is None:
        raise _no_trial(trials)
    say(f"best: trial {best.name}, {_told(plan, best)}")
    values = retrained(plan, best, trials.folder_of(best))
    write_configuration(folder / BEST, values, _heading(plan, best))
    config = load_config(folder / BEST, {"silent": silent})
    return _train_best(plan, config, best, trials, say)


def _telling(plan: SearchPlan, trials: Trials, say: Callable[[str], None]) -> Callable[[str, dict[str, Any]], None]:
    """What happens when a trial has ended."""

    def ended(name: str, drawn: dict[str, Any]) -> None:
        trial = trials.add(name, plan.decoded(drawn))
        say(f"trial {trial.name} {trial.status}: {_told(plan, trial)}" + (f"; {trial.reason}" if trial.reason else ""))

    return ended


def _told(plan: SearchPlan, trial: Trial) -> str:
    """A trial's values and result in one line."""
    chosen = ", ".join(f"{key} {value}" for key, value in trial.values.items())
    if trial.value is None:
        return chosen
    return f"{chosen}: {plan.base.val_metric} {trial.value:.4f} in epoch {trial.epoch}"


def _no_trial(trials: Trials) -> PlantError:
    reasons = list(dict.fromkeys(f"trial {one.name}: {one.reason}" for one in trials.ended if one.reason))
    more = [f"and {len(reasons) - SHOWN_REASONS} more"] if len(reasons) > SHOWN_REASONS else []
    listed = "\n  ".join([*reasons[:SHOWN_REASONS], *more])
    return PlantError(
        f"none of {len(trials.ended)} trials has a value of {trials.metric}\n  {listed}",
        where=str(trials.folder),
        fix=f"see trials/NUMBER/{LOG}, or run one of the trials' configurations: "
        f"libmultilabel --config {trials.folder}/trials/0001/config.yml",
    )


def _heading(plan: SearchPlan, best: Trial) -> str:
    """First lines of ``best.yml``."""
    score = f"{plan.base.val_metric} {best.value:.4f} on validation documents"
    return f"# libmultilabel --config {BEST}\n# The best of {plan.num_trials} trials: number {best.name}, {score}.\n"


def retrained(plan: SearchPlan, best: Trial, folder: Path) -> dict[str, Any]:
    """The configuration of the second training.

    As LibMultiLabel does it: as many epochs as the trial needed to its best one, on training and validation documents
    together unless ``no_merge_train_val``. With ``no_retrain``: the trial's own.

    Args:
        plan: The search.
        best: The trial.
        folder: The trial's.
    """
    values = plan.configuration(best.values)
    values.pop("silent", None)  # of the trials
    if plan.options.no_retrain:
        return values
    values["merge_train_val"] = not plan.options.no_merge_train_val
    if not registry.get("networks", plan.base.model_name).ours:
        values["epochs"] = best.epoch
        return values
    config = load_config(folder / "config.yml")
    _set(values, "stage2", "epochs", best.epoch)
    if config.strategy == "plant":
        found = best_epoch(read_values(folder, f"attention-nDCG@{config.stage1.k}", "stage1"), "max")
        if found is not None:
            _set(values, "stage1", "epochs", found + 1)
    if config.planted_scores.model != "none" and values["merge_train_val"]:
        # Nothing is left to choose them on: those chosen on the trial's validation documents hold.
        from plant_plugin.relevance.planted_scores import read_weights

        for name, value in read_weights(folder).items():
            _set(values, "planted_scores", name, value)
    return values


def _set(values: dict[str, Any], block: str, name: str, value: Any) -> None:
    values[block] = {**(values.get(block) or {})}
    put(values, (block, name), value)


def _train_best(
    plan: SearchPlan, config: Config, best: Trial, trials: Trials, say: Callable[[str], None]
) -> dict[str, Any]:
    """The second training and its test, in the folder ``best``; without it the test of the trial's model."""
    from plant_plugin.training.run import run

    model = trials.folder_of(best)
    if plan.options.no_retrain:
        if best.status != "finished":
            what = f"the scheduler stopped the best trial, {best.name}, so that it has no model to test"
            raise PlantError(what, where=str(model), fix="search without no_retrain, or without a scheduler")
        say(f"its model is in {model}")
        if config.test_file is None:
            return {}
        changes = {"eval": True, "checkpoint_path": str(model), "silent": config.silent}
        config = load_config(trials.folder / BEST, changes)
    config = replace(config, run_name="best", checkpoint_dir=trials.folder / "best")
    return run(config)
