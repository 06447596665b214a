"""``refit: train+val``: a first training finds on validation documents what a second one on both takes over.

The first one is a run of its own in the folder ``first_pass`` of the run's, kept there whole. The second is one without
validation documents: the same schedule of the learning rate, which it leaves behind the best epochs of the first.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from plant_plugin.config import Config
from plant_plugin.config.options import PlantedScoresOptions
from plant_plugin.model.folder import THRESHOLDS
from plant_plugin.relevance.planted_scores import read_weights
from plant_plugin.report.record import FIRST_PASS, note_cost, read_run_record
from plant_plugin.report.run import Run
from plant_plugin.training.devices import from_first, is_first


def trained_once(
    config: Config, run: Run, train: Callable[[Config, Run], Any]
) -> tuple[Config, dict[str, float] | None]:
    """Train a first time, unless a resumed run has done it or the run only tests, and prepare ``run`` for the second.

    Args:
        config: With ``refit``.
        run: Of both trainings. That it has a cost is noted once the first has ended.
        train: Trains and saves a model.

    Returns:
        The configuration of the second training, and the thresholds of the first (None where the run only tests).

    Raises:
        PlantError: The first training fails.
    """
    if config.eval:
        return config.on_both(), None
    folder = run.folder / FIRST_PASS
    ended = from_first(lambda: "cost" in (read_run_record(run.folder) or {}))
    if not ended:
        started = bool(config.resume) and from_first(lambda: read_run_record(folder) is not None)
        resume = str(folder) if started else None
        with run.first_pass() as first:
            train(replace(config, refit="none", resume=resume, checkpoint_dir=folder), first)
        if is_first():
            note_cost(run.folder, run.totals())
    thresholds, chosen, epochs = from_first(lambda: _found(folder, config.planted_scores))
    run.train_again(epochs)
    run.log(f"refit: on {config.refit}" + "".join(f", {stage} for {number} epochs" for stage, number in epochs.items()))
    return config.on_both(planted_scores=chosen), thresholds


def _found(
    folder: Path, options: PlantedScoresOptions
) -> tuple[dict[str, float], PlantedScoresOptions, dict[str, int]]:
    """Thresholds, the block with what was chosen for planted scores, and the best epoch of each stage."""
    thresholds = json.loads((folder / THRESHOLDS).read_text(encoding="utf-8"))
    chosen: dict[str, Any] = {} if options.model == "none" else dict(read_weights(folder))
    return thresholds, replace(options, **chosen), (read_run_record(folder) or {}).get("best_epochs", {})
