"""Softmax, weighted sum and gradients of a block of scores: label attention without its matrix products.

Compiled for float32 on a CPU, where each row goes through a core's cache once; torch's operations for everything else.

Shape key: **l** labels of a block · **n** documents · **P** positions. A row is one label of one document.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

# Scores are cut off this far below the highest: e^-80 adds nothing to a float32 sum, but a vectorised exp of −∞ or of
# anything that underflows takes a slow path (measured: 5 to 30 ns an element instead of 0.4).
LOWEST_EXPONENT = -80.0
_LOWEST = np.float32(LOWEST_EXPONENT)


def _is_compiled(scores: Tensor) -> bool:
    return scores.device.type == "cpu" and scores.dtype == torch.float32


def attend(scores: Tensor, contributions: Tensor, bias: Tensor | None, attended: Tensor, normaliser: Tensor) -> None:
    """Compute the softmax over positions and the weighted sum of the contributions, of every row.

    Scores and contributions (l, n, P) are overwritten; ``bias`` (n, P) is 0 or −∞. ``attended`` (l, n) gets the sums,
    ``normaliser`` (l, n) the logarithm of the sum of the exponentials.
    """
    if _is_compiled(scores):
        from plant_plugin.networks.kernels.compiled import attend_rows

        attend_rows(scores.numpy(), contributions.numpy(), _array(bias), attended.numpy(), normaliser.numpy(), _LOWEST)
        return
    if bias is not None:
        scores.add_(bias)
    highest = scores.amax(dim=-1, keepdim=True)
    weights = scores.sub_(highest).clamp_(min=LOWEST_EXPONENT).exp_()
    total = weights.sum(dim=-1)
    attended.copy_(contributions.mul_(weights).sum(dim=-1) / total)
    normaliser.copy_(highest.squeeze(-1) + total.log())


def turn_into_gradients(
    scores: Tensor, contributions: Tensor, bias: Tensor | None, attended: Tensor, normaliser: Tensor, arriving: Tensor
) -> None:
    """Write the gradients of scores and contributions over each other, because the products use both alike.

    Scores become the gradient of the contributions, and these that of the scores. Shapes are as in :func:`attend`, and
    ``arriving`` (l, n) is the gradient of ``attended``.
    """
    if _is_compiled(scores):
        from plant_plugin.networks.kernels.compiled import turn_rows

        # contiguous, whether or not the block is a part: compiled once
        sums, norms, pull = (part.contiguous().numpy() for part in (attended, normaliser, arriving))
        turn_rows(scores.numpy(), contributions.numpy(), _array(bias), sums, norms, pull, _LOWEST)
        return
    if bias is not None:
        scores.add_(bias)
    weights = scores.sub_(normaliser[..., None]).clamp_(min=LOWEST_EXPONENT).exp_()
    weights.mul_(arriving[..., None])
    contributions.sub_(attended[..., None]).mul_(weights)


def _array(bias: Tensor | None) -> np.ndarray:
    return np.empty((0, 0), np.float32) if bias is None else bias.numpy()
