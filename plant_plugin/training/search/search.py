"""A whole search: the trials, the best one, and its training on all the documents there are."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from plant_plugin.config import Config, load_config, registry
from plant_plugin.config.options import AUTO, OF_PHRASES
from plant_plugin.config.values import Keys, Value
from plant_plugin.errors import PlantError, needs_extra
from plant_plugin.files import atomic_write, remove, write_text
from plant_plugin.report.run_folder import own_folder
from plant_plugin.training.search.plan import SearchPlan
from plant_plugin.training.search.trial import KEPT, LOG, best_epoch, read_outcome, read_values, write_configuration

if TYPE_CHECKING:
    from plant_plugin.report.result import Result

BEST = "best.yml"
SHOWN_REASONS = 5


def search(plan: SearchPlan, *, silent: bool = False) -> Result:
    """Search as :func:`search_in_folder` does, in a folder of the search's own."""
    with own_folder(plan.base) as base:
        return search_in_folder(replace(plan, base=base), silent=silent)


def search_in_folder(plan: SearchPlan, *, silent: bool = False) -> Result:
    """Run the trials, choose by ``val_metric`` alone, then train the best configuration again and test it.

    Writes into ``result_dir/DATA_CONFIG_TIME``: ``trials.csv`` and ``trials.json``, ``trials/NUMBER``, ``best.yml``
    and, from the second training, the run folder ``best``.

    Returns:
        The content of ``best/result.json``, or an empty dictionary where there is no test file.

    Raises:
        MissingExtraError: Ray Tune cannot be imported.
        PlantError: Ray does not start, no trial has a value of ``val_metric``, or the second training fails.
    """
    with needs_extra("search", "Ray Tune cannot be imported"):
        from plant_plugin.training.search.tuning import run_trials

    def say(text: str) -> None:
        if not silent:
            print(text, file=sys.stderr, flush=True)

    def ended(name: str, drawn: Keys) -> None:
        trial = trials.add(name, plan.decoded(drawn))
        say(f"trial {trial.name} {trial.status}: {_told(plan, trial)}" + (f"; {trial.reason}" if trial.reason else ""))

    folder = plan.base.checkpoint_dir.resolve()
    trials = Trials(folder, plan.base.val_metric, plan.mode)
    trials.write()
    say(f"{plan.num_trials} trials of {', '.join(each.key for each in plan.expressions)}, in {folder}")
    run_trials(plan, folder / "trials", say, ended)
    best = trials.best
    if best is None:
        reasons = list(dict.fromkeys(f"trial {one.name}: {one.reason}" for one in trials.ended if one.reason))
        more = [f"and {len(reasons) - SHOWN_REASONS} more"] if len(reasons) > SHOWN_REASONS else []
        listed = "\n  ".join([*reasons[:SHOWN_REASONS], *more])
        raise PlantError(
            f"none of {len(trials.ended)} trials has a value of {trials.metric}\n  {listed}",
            where=str(folder),
            fix=f"see trials/NUMBER/{LOG}, or run one of the trials' configurations: "
            f"libmultilabel --config {folder}/trials/0001/config.yml",
        )
    say(f"best: trial {best.name}, {_told(plan, best)}")
    score = f"{plan.base.val_metric} {best.value:.4f} on validation documents"
    heading = f"# libmultilabel --config {BEST}\n# The best of {plan.num_trials} trials: number {best.name}, {score}.\n"
    write_configuration(folder / BEST, retrained(plan, best, trials.folder_of(best)), heading)
    config = load_config(folder / BEST, {"silent": silent})
    return _train_best(plan, config, best, trials, say)


def _told(plan: SearchPlan, trial: Trial) -> str:
    """A trial's values and result in one line."""
    chosen = ", ".join(f"{key} {value}" for key, value in trial.values.items())
    if trial.value is None:
        return chosen
    return f"{chosen}: {plan.base.val_metric} {trial.value:.4f} in epoch {trial.epoch}"


def retrained(plan: SearchPlan, best: Trial, folder: Path) -> Keys:
    """The configuration of the second training, after a trial in a folder.

    As LibMultiLabel does it: as many epochs as the trial needed to its best one, on training and validation documents
    together unless ``no_merge_train_val``. With ``no_retrain``: the trial's own.
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
        from plant_plugin.model.folder import read_content
        from plant_plugin.relevance.planted_scores import read_weights

        of_phrases = () if config.evidence.training_file or config.evidence.mine else OF_PHRASES
        for name, value in read_weights(folder).items():
            if name not in of_phrases:
                _set(values, "planted_scores", name, value)
        if config.shortlist.size == AUTO:
            _set(values, "shortlist", "size", read_content(folder, trust_code=True)["shortlist"])
    return values


def _set(values: Keys, block: str, name: str, value: Value) -> None:
    values[block] = {**(values.get(block) or {}), name: value}


def _train_best(plan: SearchPlan, config: Config, best: Trial, trials: Trials, say: Callable[[str], None]) -> Result:
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
        config = replace(load_config(trials.folder / BEST, changes), trust_code=True)  # this search wrote it
    config = replace(config, run_name="best", checkpoint_dir=trials.folder / "best")
    return run(config)


@dataclass(frozen=True)
class Trial:
    """One trial that has ended."""

    name: str  # a number, and name of its folder
    values: Keys  # the chosen value of each key that varies
    status: str  # `finished`, `failed`, or `stopped` by the scheduler
    value: float | None  # best of `val_metric`
    epoch: int | None  # the first that has it, from 1
    epochs: int  # trained
    reason: str | None  # why it failed


class Trials:
    """All trials so far of a search in a folder; ``metric`` is ``val_metric``, and its best value the ``mode``."""

    def __init__(self, folder: Path, metric: str, mode: str) -> None:
        self.folder, self.metric, self.mode = folder, metric, mode
        self.ended: list[Trial] = []

    @property
    def best(self) -> Trial | None:
        """The trial with the best value; of equals, the one with the lowest number."""
        sign = -1 if self.mode == "max" else 1
        able = [trial for trial in self.ended if trial.value is not None and trial.status != "failed"]
        return min(able, key=lambda trial: (sign * (trial.value or 0.0), trial.name), default=None)

    def folder_of(self, trial: Trial) -> Path:
        """Its run folder."""
        return self.folder / "trials" / trial.name

    def add(self, name: str, values: Keys) -> Trial:
        """Note a trial that has ended, write the tables anew, and remove models that are not the best."""
        own = self.folder / "trials" / name
        found, outcome = read_values(own, self.metric), read_outcome(own)
        best = best_epoch(found, self.mode)
        reason = outcome.get("failure")
        status = "failed" if reason is not None else "finished" if outcome.get("finished") else "stopped"
        if status == "stopped" and best is None:
            status, reason = "failed", "Ray ended it before its first epoch"
        value, epoch = (None, None) if best is None else (found[best], best + 1)
        trial = Trial(name, values, status, value, epoch, len(found), reason)
        before = self.best
        self.ended = sorted([*self.ended, trial], key=lambda one: one.name)
        self.write()
        for one in (before, trial):
            if one is not None and one is not self.best:
                _forget_model(self.folder_of(one))
        return trial

    def write(self) -> None:
        """``trials.csv`` and ``trials.json``."""
        best = self.best
        rows = [
            {
                "trial": trial.name, "status": trial.status, self.metric: trial.value, "epoch": trial.epoch,
                "epochs": trial.epochs, **trial.values, "reason": trial.reason,
            }
            for trial in self.ended
        ]  # fmt: skip
        content = {"val_metric": self.metric, "mode": self.mode, "best": best.name if best else None, "trials": rows}
        write_text(self.folder / "trials.json", json.dumps(content, indent=1) + "\n")
        with (
            atomic_write(self.folder / "trials.csv") as temporary,
            open(temporary, "w", newline="", encoding="utf-8") as stream,
        ):
            writer = csv.DictWriter(stream, list(rows[0]) if rows else [], lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)


def _forget_model(folder: Path) -> None:
    """Remove what a trial that is not the best has trained; its configuration and its numbers stay."""
    for path in folder.glob("*"):
        if path.name not in KEPT:
            remove(path)
