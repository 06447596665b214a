"""Adam that goes through only those rows of a label table for which a step has a gradient.

With a shortlist most labels have none. Adam would move them on by what earlier steps left in their moments, and go
through all L rows for it; here they stay, moments included, until a batch has them again. Weight decay, of either
kind, is likewise only of the touched rows. The bias correction counts all steps, as ``torch.optim.SparseAdam`` does.

Shapes: a table is (L, …), a sparse gradient (rows, …).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import torch
from torch import Tensor, nn
from torch.optim import Adam, AdamW, Optimizer


class _Rows(Optimizer):
    """Base of both kinds, which differ in how weights decay."""

    decoupled: bool

    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        """Do one step; of a table whose gradient is sparse, in the rows of the gradient."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        sparse = []
        for group in self.param_groups:
            for table in group["params"]:
                if table.grad is not None and table.grad.is_sparse:
                    sparse.append((group, table, table.grad.coalesce()))
                    table.grad = None
        super().step()  # all others, as ever
        for group, table, gradient in sparse:
            self._touch(table, gradient, group["lr"], group["weight_decay"], group["betas"], group["eps"])
            table.grad = gradient
        return loss

    @torch.no_grad()
    def _touch(
        self, table: Tensor, gradient: Tensor, rate: float, decay: float, betas: tuple[float, float], eps: float
    ) -> None:
        state = self.state[table]
        if not state:
            state["step"] = torch.zeros(())  # as Adam's own, which may have the next step
            state |= {name: torch.zeros_like(table) for name in ("exp_avg", "exp_avg_sq")}
        state["step"] += 1
        step, (first, second) = float(state["step"]), betas
        (rows,), values = gradient.indices(), gradient.values()
        touched = table[rows]
        if decay and self.decoupled:
            touched *= 1 - rate * decay
        elif decay:
            values = values + decay * touched
        mean = state["exp_avg"][rows].lerp_(values, 1 - first)
        square = state["exp_avg_sq"][rows].mul_(second).addcmul_(values, values, value=1 - second)
        spread = (square.sqrt() / math.sqrt(1 - second**step)).add_(eps)
        touched.addcdiv_(mean, spread, value=-rate / (1 - first**step))
        for whole, part in ((table, touched), (state["exp_avg"], mean), (state["exp_avg_sq"], square)):
            whole.index_copy_(0, rows, part)


class RowAdam(_Rows, Adam):
    """Adam; weight decay is a part of the gradient."""

    decoupled = False


class RowAdamW(_Rows, AdamW):
    """AdamW; weights decay by themselves."""

    decoupled = True


def clip_norm(parameters: Iterable[nn.Parameter], most: float) -> Tensor:
    """Clip as ``torch.nn.utils.clip_grad_norm_``, also where gradients are sparse; return their norm () before it."""
    parameters = list(parameters)
    sparse = [table for table in parameters if table.grad is not None and table.grad.is_sparse]
    if not sparse:
        return nn.utils.clip_grad_norm_(parameters, most)
    for table in sparse:
        assert table.grad is not None
        table.grad = table.grad.coalesce()  # a row that several documents have is there once, with the sum
    parts = [each.grad._values() if each.grad.is_sparse else each.grad for each in parameters if each.grad is not None]
    norm = torch.linalg.vector_norm(torch.stack([torch.linalg.vector_norm(part) for part in parts]))
    factor = (most / (norm + 1e-6)).clamp(max=1.0)
    for part in parts:
        part.mul_(factor)
    return norm
