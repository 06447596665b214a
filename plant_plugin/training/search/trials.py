"""The trials of a search: what each tried, what came of it, the table of all, and the best one."""

from __future__ import annotations

import csv
import io
import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plant_plugin.files import atomic_write
from plant_plugin.training.search.trial import CONFIG, LOG, LOGS, OUTCOME, best_epoch, read_outcome, read_values

KEPT = (CONFIG, LOG, LOGS, OUTCOME, "metrics.csv")


@dataclass(frozen=True)
class Trial:
    """One trial that has ended.

    Attributes:
        name: Number, and name of its folder.
        values: The chosen value of each key that varies.
        status: ``finished``, ``failed``, or ``stopped`` by the scheduler.
        value: Best value of ``val_metric``; None where there is none.
        epoch: The first epoch that has it, from 1.
        epochs: Epochs trained.
        reason: Why it failed.
    """

    name: str
    values: dict[str, Any]
    status: str
    value: float | None = None
    epoch: int | None = None
    epochs: int = 0
    reason: str | None = None


class Trials:
    """All trials of a search so far.

    Args:
        folder: Of the search; the trials' own folders are in ``folder/trials``.
        metric: ``val_metric``.
        mode: ``max`` or ``min``.
    """

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

    def add(self, name: str, values: dict[str, Any]) -> Trial:
        """Note a trial that has ended, write the tables anew, and remove models that are not the best."""
        own = self.folder / "trials" / name
        found, outcome = read_values(own, self.metric), read_outcome(own)
        best = best_epoch(found, self.mode)
        reason = outcome.get("failure")
        status = "failed" if reason is not None else "finished" if outcome.get("finished") else "stopped"
        if status == "stopped" and best is None:
            status, reason = "failed", "Ray ended it before its first epoch"
        known = {} if best is None else {"value": found[best], "epoch": best + 1}
        trial = Trial(name, values, status, **known, epochs=len(found), reason=reason)  # type: ignore[arg-type]
        before = self.best
        self.ended = sorted([*self.ended, trial], key=lambda one: one.name)
        self.write()
        for one in (before, trial):
            if one is not None and one is not self.best:
                forget_model(self.folder_of(one))
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
        with atomic_write(self.folder / "trials.json") as temporary:
            temporary.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
        text = io.StringIO()
        writer = csv.DictWriter(text, list(rows[0]) if rows else [], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        with atomic_write(self.folder / "trials.csv") as temporary:
            temporary.write_text(text.getvalue(), encoding="utf-8")


def forget_model(folder: Path) -> None:
    """Remove what a trial that is not the best has trained; its configuration and its numbers stay."""
    for path in folder.iterdir() if folder.is_dir() else ():
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        elif path.name not in KEPT:
            path.unlink(missing_ok=True)
