"""What settings say of a run: its draws, its numbers, how many batches; without Lightning, which is slow to import."""

from __future__ import annotations

import os
import random
from typing import Literal

import numpy as np
import torch

from plant_plugin.config.sections import Settings, Training
from plant_plugin.errors import ConfigError
from plant_plugin.training.devices import device_of

Precision = Literal["32-true", "bf16-mixed", "16-mixed"]  # as Lightning names them


def seed_everything(seed: int) -> None:
    """Seed all that draws at random, in this process and in those that Lightning starts or seeds again."""
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    os.environ.update(PL_GLOBAL_SEED=str(seed), PL_SEED_WORKERS="1")


def precision_of(settings: Settings) -> Precision:
    """Return Lightning's name of the configured precision; ``auto`` is bf16 (or fp16) on a GPU and fp32 on a CPU.

    Raises:
        ConfigError: fp16 on a CPU, which has no fast fp16 products and no loss scaling.
    """
    chosen, device = settings.precision, device_of(settings)
    if chosen == "16" and device.type == "cpu":
        raise ConfigError("fp16 needs a GPU", where="precision", fix="use precision: bf16, 32 or auto")
    if chosen == "auto":
        chosen = "32" if device.type == "cpu" else "bf16" if torch.cuda.is_bf16_supported() else "16"
    names: dict[str, Precision] = {"32": "32-true", "bf16": "bf16-mixed", "16": "16-mixed"}
    return names[chosen]


def taken(settings: Training, split: str, batches: int) -> int:
    """Return how many batches of a split the configured limits leave."""
    limits = {"train": settings.limit_train_batches, "val": settings.limit_val_batches}
    return so_many(limits.get(split, settings.limit_test_batches), batches)


def so_many(limit: float, batches: int) -> int:
    """Return how many batches a limit leaves: a share of them up to 1, above it a number."""
    return max(1, min(batches, int(limit)) if limit > 1 else int(limit * batches))
