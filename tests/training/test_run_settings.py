from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator

import lightning as L
import numpy as np
import pytest
import torch

from plant_plugin.config.sections import Settings
from plant_plugin.errors import ConfigError
from plant_plugin.training.run_settings import precision_of, seed_everything, so_many, taken


@pytest.fixture(autouse=True)
def seeds_of_before() -> Iterator[None]:
    before = {name: os.environ.get(name) for name in ("PL_GLOBAL_SEED", "PL_SEED_WORKERS")}
    yield
    for name, value in before.items():
        os.environ.pop(name, None)
        os.environ.update({} if value is None else {name: value})


def drawn(seed: Callable[[], object]) -> tuple[object, ...]:
    for name in ("PL_GLOBAL_SEED", "PL_SEED_WORKERS"):
        os.environ.pop(name, None)
    seed()
    names = os.environ["PL_GLOBAL_SEED"], os.environ["PL_SEED_WORKERS"]
    return random.random(), np.random.rand(), torch.rand(3).tolist(), names


def test_it_seeds_what_lightning_seeds() -> None:
    ours = drawn(lambda: seed_everything(7))
    assert ours == drawn(lambda: L.seed_everything(7, workers=True, verbose=False))
    assert ours != drawn(lambda: seed_everything(8))


@pytest.mark.parametrize(("precision", "named"), [("auto", "32-true"), ("32", "32-true"), ("bf16", "bf16-mixed")])
def test_precision_on_a_processor(precision: str, named: str) -> None:
    assert precision_of(Settings(precision=precision, cpu=True)) == named


def test_fp16_is_refused_on_a_processor() -> None:
    with pytest.raises(ConfigError, match="needs a GPU"):
        precision_of(Settings(precision="16", cpu=True))


def test_a_limit_is_a_share_up_to_one_and_a_number_above_it() -> None:
    assert [so_many(limit, 10) for limit in (1.0, 0.25, 0.01, 3, 40)] == [10, 2, 1, 3, 10]
    limited = Settings(limit_train_batches=2, limit_val_batches=3, limit_test_batches=0.4)
    assert [taken(limited, split, 10) for split in ("train", "val", "test")] == [2, 3, 4]
