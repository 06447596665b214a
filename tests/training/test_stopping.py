"""When a stage ends, and whose weights it keeps: where the watched metric is 0 it says nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from plant_plugin.config import Config
from plant_plugin.report.record import read_run_record
from plant_plugin.training.run import run
from plant_plugin.training.stopping import Patience

Made = Callable[..., Config]


def epochs_of(watched: Sequence[float], other: Sequence[float], patience: int = 2, stop_at: int | None = None) -> int:
    """Return after how many epochs a stage ends; at ``stop_at`` it is interrupted, and resumed from its state."""
    strategy = SimpleNamespace(reduce_boolean_decision=lambda decision, all: decision)
    trainer: Any = SimpleNamespace(fast_dev_run=False, strategy=strategy, should_stop=False, current_epoch=0)
    trainer.state = SimpleNamespace(fn="fit")
    stop = Patience("Macro-F1", "max", patience)
    for epoch, (first, second) in enumerate(zip(watched, other, strict=True)):
        if epoch == stop_at:
            state = stop.state_dict()
            stop = Patience("Macro-F1", "max", patience)
            stop.load_state_dict(state)
        metrics = {"Macro-F1": first, "P@5": second, "loss": 9 - epoch}
        trainer.callback_metrics = {name: torch.tensor(value) for name, value in metrics.items()}
        trainer.sanity_checking, trainer.current_epoch = False, epoch
        stop.on_train_epoch_end(trainer, None)  # type: ignore[arg-type]
        if trainer.should_stop:
            return epoch + 1
    return len(watched)


@pytest.mark.parametrize("stop_at", [None, 2])
@pytest.mark.parametrize(
    ("watched", "other", "epochs"),
    [
        ([0, 0, 0, 0, 0.1, 0.2], [0.1, 0.2, 0.3, 0.4, 0.5, 0.6], 6),  # it stays 0 while the network learns
        ([0.01, 0, 0, 0, 0.02, 0.03], [0.1, 0.2, 0.3, 0.4, 0.5, 0.6], 6),  # all labels were predicted at first
        ([0, 0, 0, 0, 0, 0], [0.1, 0.2, 0.2, 0.2, 0.2, 0.2], 5),  # nothing is learned any more
        ([0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0], 3),  # nothing was ever learned
        ([0.1, 0.1, 0.1, 0.1, 0.1, 0.1], [0.1, 0.2, 0.3, 0.4, 0.5, 0.6], 3),  # above 0 it alone counts
    ],
)
def test_an_epoch_at_0_counts_only_where_nothing_is_learned(
    watched: list[float], other: list[float], epochs: int, stop_at: int | None
) -> None:
    assert epochs_of(watched, other, stop_at=stop_at) == epochs


def test_a_stage_whose_metric_stays_0_trains_on_and_keeps_the_newest_weights(made: Made) -> None:
    config = made(
        strategy="end_to_end", stage2__patience=1, stage2__epochs=4, val_metric="Macro-F1", learning_rate=0.003,
        network_config__initial_logit=-9,
    )  # fmt: skip
    run(config)
    logged = json.loads(config.log_path.read_text())["val"]
    assert [epoch["Macro-F1"] for epoch in logged] == [0] * 4
    record = read_run_record(Path(str(config.checkpoint_dir)))
    assert record is not None
    assert record["best_epochs"] == {"stage2": 4}
