from __future__ import annotations

import pytest
import torch

from plant_plugin.training.stage import Candidates, learning_rate_factor


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
