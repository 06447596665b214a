"""Adam that goes through those rows of a label table alone that a step has a gradient for.

With a shortlist most labels have none. Adam would move them on by what earlier steps left in their moments, and go
through all L rows for it; here they stay, moments included, until a batch has them again. Weight decay, of either
kind, is likewise of the touched rows alone. The bias correction counts all steps, as ``torch.optim.SparseAdam`` does.

Shapes: a table is (L, …), a sparse gradient (rows, …).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import torch
from torch import Tensor, nn
from torch.optim import Adam, AdamW, Optimizer


class _Rows(Optimizer):
    """What both kinds share; they differ in how weights decay."""

    decoupled: bool

    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        """One step; of a table whose gradient is sparse, in the rows of the gradient."""
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
        kept = self.state[table]
        if not kept:
            kept["step"] = torch.zeros((), dtype=torch.float32)  # as Adam's own, which may have the next step
            kept |= {name: torch.zeros_like(table) for name in ("exp_avg", "exp_avg_sq")}
        kept["step"] += 1
        step, (first, second) = float(kept["step"]), betas
        (rows,), values = gradient.indices(), gradient.values()
        own = table[rows]
        if decay and self.decoupled:
            own *= 1 - rate * decay
        elif decay:
            values = values + decay * own
        mean = kept["exp_avg"][rows].lerp_(values, 1 - first)
        square = kept["exp_avg_sq"][rows].mul_(second).addcmul_(values, values, value=1 - second)
        spread = (square.sqrt() / math.sqrt(1 - second**step)).add_(eps)
        own.addcdiv_(mean, spread, value=-rate / (1 - first**step))
        for whole, part in ((table, own), (kept["exp_avg"], mean), (kept["exp_avg_sq"], square)):
            whole.index_copy_(0, rows, part)


class RowAdam(_Rows, Adam):
    """Adam; weight decay is a part of the gradient."""

    decoupled = False


class RowAdamW(_Rows, AdamW):
    """AdamW; weights decay by themselves."""

    decoupled = True


def clip_norm(parameters: Iterable[nn.Parameter], most: float) -> Tensor:
    """``torch.nn.utils.clip_grad_norm_`` where some gradients may be sparse: their norm () before it."""
    parameters = list(parameters)
    sparse = [one for one in parameters if one.grad is not None and one.grad.is_sparse]
    if not sparse:
        return nn.utils.clip_grad_norm_(parameters, most)
    for one in sparse:
        assert one.grad is not None
        one.grad = one.grad.coalesce()  # a row that several documents have stands there once, with the sum
    parts = [one.grad._values() if one.grad.is_sparse else one.grad for one in parameters if one.grad is not None]
    norm = torch.linalg.vector_norm(torch.stack([torch.linalg.vector_norm(part) for part in parts]))
    factor = (most / (norm + 1e-6)).clamp(max=1.0)
    for part in parts:
        part.mul_(factor)
    return norm
