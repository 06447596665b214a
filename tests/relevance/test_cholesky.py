from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.linalg import cho_factor, cho_solve

from plant_plugin.relevance import cholesky


@pytest.fixture
def matrix() -> torch.Tensor:
    drawn = np.random.default_rng(0).standard_normal((60, 20)).astype(np.float32)
    return torch.from_numpy(drawn @ drawn.T + np.eye(60, dtype=np.float32))


@pytest.mark.parametrize("rows", [60, 59, 25, 1])
def test_blocks_solve_what_the_whole_solves(matrix: torch.Tensor, rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cholesky, "ROWS", rows)
    monkeypatch.setattr(cholesky, "STEP", 7)
    targets = np.random.default_rng(1).standard_normal((60, 3)).astype(np.float32)
    expected = np.linalg.solve(matrix.numpy().astype(float), targets)
    factors = cholesky.factor(matrix)
    np.testing.assert_allclose(cholesky.solve(matrix, factors, targets), expected, atol=1e-4)


def test_one_block_is_what_lapack_makes_of_it(matrix: torch.Tensor) -> None:
    targets = np.eye(60, 3, dtype=np.float32)
    expected = cho_solve(cho_factor(matrix.clone().numpy().T, lower=True), targets)
    solved = cholesky.solve(matrix, cholesky.factor(matrix), targets.copy())
    np.testing.assert_array_equal(solved, expected)


def test_what_is_not_positive_definite_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cholesky, "ROWS", 2)
    with pytest.raises(np.linalg.LinAlgError):
        cholesky.factor(-torch.eye(5))
