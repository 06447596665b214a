from __future__ import annotations

import pytest
import torch

from plant_plugin.config.sections import Settings
from plant_plugin.errors import ConfigError
from plant_plugin.training.stage import Candidates, learning_rate_factor, precision_of, so_many, taken


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


@pytest.mark.parametrize(
    ("schedule", "warmup", "factors"),
    [
        ("constant", 0.5, [1 / 3, 2 / 3, 1, 1]),
        ("cosine", 0.0, [1, 0.5 + 0.5 * 2**-0.5, 0.5, 0.5 - 0.5 * 2**-0.5]),
        ("slanted_triangular", 0.0, [1 / 32, 1, 1 - 31 / 32 / 3, 1 - 31 / 32 * 2 / 3]),
        ("one_cycle", 0.0, [1 / 25, 1, 0.75, 0.25]),
    ],
)
def test_learning_rate_factors_of_four_steps(schedule: str, warmup: float, factors: list[float]) -> None:
    factor = learning_rate_factor(schedule, warmup, 4)
    assert [factor(step) for step in range(4)] == pytest.approx(factors)


def test_a_documents_own_labels_come_after_its_shortlist() -> None:
    batch = {
        "shortlist": torch.tensor([[0, 2], [1, 3]]),
        "label_row": torch.tensor([0, 0, 1]),
        "label_column": torch.tensor([2, 4, 3]),
    }
    candidates = Candidates.of(batch, 5)
    assert candidates.labels is not None
    assert candidates.labels.tolist() == [[0, 2, 4], [1, 3, 0]]
    assert candidates.positives.tolist() == [[False, True, True], [False, True, False]]
    assert candidates.real.tolist() == [[True, True, True], [True, True, False]]
