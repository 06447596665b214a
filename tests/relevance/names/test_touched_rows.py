"""Beside torch's SparseAdam over an EmbeddingBag."""

from __future__ import annotations

import numpy as np
import torch

from plant_plugin.relevance.names.touched_rows import TouchedRows

ROWS, SIZE = 30, 4


def test_steps_are_those_of_sparse_adam() -> None:
    generator = torch.Generator().manual_seed(0)
    table, goal = torch.randn(ROWS, SIZE, generator=generator), torch.randn(5, SIZE, generator=generator)
    plain = torch.nn.Parameter(table.clone())
    optimizer = torch.optim.SparseAdam([plain], lr=0.1)
    ours, drawn = TouchedRows(table.clone()), np.random.default_rng(0)
    for step in range(20):
        summands = [drawn.integers(0, ROWS - 10, number) for number in (3, 0, 7, 1, 2)]  # a row may come twice
        rate = 0.1 / (step + 1)
        ours.step(summands, lambda sums: ((sums - goal) ** 2).sum(), rate)
        optimizer.param_groups[0]["lr"] = rate
        optimizer.zero_grad()
        offsets = torch.from_numpy(np.cumsum([0, *map(len, summands)])[:-1])
        rows = torch.from_numpy(np.concatenate(summands))
        sums = torch.nn.functional.embedding_bag(rows, plain, offsets, mode="sum", sparse=True)
        ((sums - goal) ** 2).sum().backward()
        optimizer.step()
    torch.testing.assert_close(ours.table, plain.detach(), rtol=1e-4, atol=1e-5)
    assert (ours.table[: ROWS - 10] != table[: ROWS - 10]).all()
    torch.testing.assert_close(ours.table[ROWS - 10 :], table[ROWS - 10 :], rtol=0, atol=0)
