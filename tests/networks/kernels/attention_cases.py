"""Arguments of the label attention, and values with gradients of a way to compute it."""

from __future__ import annotations

from collections.abc import Callable

import torch
from scipy import sparse

from plant_plugin.networks.kernels.prior import PriorLookup, SparseTable


def case(batch: int = 3, positions: int = 6, heads: int = 2, width: int = 3, labels: int = 7, types: int = 5) -> tuple:
    torch.manual_seed(0)
    queries = torch.randn(labels, heads, width, dtype=torch.float64, requires_grad=True)
    keys = torch.randn(batch, positions, heads, width, dtype=torch.float64, requires_grad=True)
    values = torch.randn(batch, positions, heads, width, dtype=torch.float64, requires_grad=True)
    outputs = torch.randn(labels, heads, width, dtype=torch.float64, requires_grad=True)
    strength = torch.randn(labels, heads, dtype=torch.float64, requires_grad=True)
    lengths = torch.tensor([positions, 1, positions - 2])[:batch]
    mask = torch.arange(positions) < lengths[:, None]
    prior = PriorLookup(torch.rand(labels, types, dtype=torch.float64), torch.randint(0, types, (batch, positions)))
    return queries, keys, values, outputs, mask, prior, strength


def with_entries(prior: PriorLookup) -> PriorLookup:
    """A prior that is mostly zero, also for a whole label and a whole token type, as its entries."""
    table = prior.table * (torch.rand(prior.table.shape, generator=torch.Generator().manual_seed(1)) < 0.4)
    table[2], table[:, 1] = 0, 0
    rows = sparse.csr_array(table.numpy())
    assert 0 < rows.nnz < table.numel() / 2
    return PriorLookup(None, prior.columns, SparseTable(lambda: rows.tocsc().T))


def other_columns(prior: PriorLookup) -> torch.Tensor:
    """A second column of the table for each position."""
    generator = torch.Generator().manual_seed(2)
    return torch.randint(0, prior.dense().shape[1], prior.columns.shape, generator=generator)


def single(parts: tuple) -> tuple:
    """A case in float32, as the compiled loops take it."""
    *operands, prior, strength = parts
    narrow = [part.detach().float().requires_grad_() if part.is_floating_point() else part for part in operands]
    return *narrow, PriorLookup(prior.table.float(), prior.columns), strength.detach().float().requires_grad_()


def values_and_gradients(way: Callable[..., torch.Tensor], parts: tuple, **options: int) -> list[torch.Tensor]:
    *operands, prior, strength = parts
    free = [*(part for part in operands if part.is_floating_point()), strength]
    logits = way(*operands, prior, strength, **options)
    return [logits, *torch.autograd.grad(logits.sin().sum(), free)]
