"""What training takes, from a few of its batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from plant_plugin.config import Config
from plant_plugin.training import pace
from plant_plugin.training.pace import draw_labels, measure
from plant_plugin.training.stage2 import Stage2

Made = Callable[..., Config]
CPU = torch.device("cpu")


def test_epochs_and_stages_add_up(made: Made) -> None:
    measured = measure(made())
    assert list(measured.stages) == ["stage1", "stage2"]
    assert [(stage.epochs, stage.batches) for stage in measured.stages.values()] == [(2, 4), (3, 4)]
    for stage in measured.stages.values():
        assert stage.training_seconds > 0
        assert stage.validation_seconds > 0
        assert stage.peak_bytes > 2**26  # torch itself takes as much
        assert stage.seconds == stage.epochs * (stage.training_seconds + stage.validation_seconds)
    both = sum(stage.seconds for stage in measured.stages.values())
    assert measured.seconds == pytest.approx(measured.preparation_seconds + both)


def test_what_is_not_trained_is_not_measured(made: Made) -> None:
    assert list(measure(made(strategy="end_to_end", batch_size=500)).stages) == ["stage2"]
    assert list(measure(made(stage2__epochs=0)).stages) == ["stage1"]


def test_a_second_training_takes_as_long(made: Made) -> None:
    measured = measure(made(refit="train+val"))
    stages = sum(stage.seconds for stage in measured.stages.values())
    assert measured.seconds == pytest.approx(2 * (measured.preparation_seconds + stages))


class Batches:
    """Batches of so many positions each."""

    def __init__(self, *sizes: int) -> None:
        self.sizes = sizes

    def order(self) -> list[int]:
        return list(range(len(self.sizes)))

    def positions(self, place: int) -> int:
        return self.sizes[place]

    def batch(self, place: int) -> dict[str, torch.Tensor]:
        return {"text": torch.tensor(self.sizes[place])}


@pytest.mark.parametrize(("sizes", "seconds"), [((30, 10, 20, 15), 2 * 75 + 4), ((7, 7), 2 * 14 + 2), ((5,), 11)])
def test_a_pass_takes_what_its_positions_do(
    monkeypatch: pytest.MonkeyPatch, sizes: tuple[int, ...], seconds: float
) -> None:
    """By hand: a batch takes two seconds a position and one more; the first time that it is seen a hundred more."""
    now, seen = [0.0], set[int]()

    def step(batch: dict[str, torch.Tensor]) -> None:
        size = int(batch["text"])
        now[0] += 2 * size + 1 + 100 * (size not in seen)
        seen.add(size)

    monkeypatch.setattr(pace.time, "perf_counter", lambda: now[0])
    assert pace._seconds(Batches(*sizes), step, CPU) == pytest.approx(seconds)  # type: ignore[arg-type]


def test_labels_of_a_shortlist_are_drawn(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    widths, loss = set[int | None](), Stage2.training_loss

    def seen(self: Any, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        widths.add(batch["shortlist"].shape[1] if "shortlist" in batch else None)
        return loss(self, batch)

    monkeypatch.setattr(Stage2, "training_loss", seen)
    measure(made(shortlist__size=5, planted_scores__model="ridge", strategy="end_to_end"))
    assert widths == {5}
    measure(made(strategy="end_to_end"))
    assert widths == {5, None}


@pytest.mark.parametrize(("labels", "size"), [(7, 5), (5, 5), (3, 5), (100_003, 100)])
def test_drawn_labels_are_different_ones(labels: int, size: int) -> None:
    drawn = draw_labels(50, labels, size)
    assert drawn.shape == (50, min(size, labels))
    assert (np.diff(drawn, axis=1) > 0).all()
    assert drawn.min() >= 0
    assert drawn.max() < labels
