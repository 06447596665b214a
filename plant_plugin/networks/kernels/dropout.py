"""Dropout on a CPU without waiting for random numbers.

torch draws one number after the other, each for one element. Here one hash of 64 bits decides over four elements
(`benchmarks/speed/test_network.py` compares both).
"""

from __future__ import annotations

import numpy as np
import torch
from numba import njit
from torch import Tensor, nn

LEVELS = 2**16  # rates are rounded to multiples of 1 / LEVELS
_KEPT = {torch.float32: torch.int32, torch.bfloat16: torch.int16, torch.float16: torch.int16}
_LARGEST = 2**63 - 1
_LANE = np.uint64(LEVELS - 1)


class Dropout(nn.Dropout):
    """``torch.nn.Dropout``, whose random numbers on a CPU come from a hash that torch's generator seeds."""

    def forward(self, input: Tensor) -> Tensor:
        """Of any shape; elements are 0 with probability ``p``, the others divided by 1 − p."""
        if not self.training or input.device.type != "cpu" or input.dtype not in _KEPT or not 0 < self.p < 1:
            return super().forward(input)
        return input.mul_(keep(input, self.p)) if self.inplace else input * keep(input, self.p)


def take_our_dropout(network: nn.Module) -> None:
    """Put :class:`Dropout` in the place of every ``torch.nn.Dropout`` of a network."""
    for module in network.modules():
        for name, child in module.named_children():
            if type(child) is nn.Dropout:
                setattr(module, name, Dropout(child.p, child.inplace).train(child.training))


def keep(like: Tensor, rate: float) -> Tensor:
    """What to multiply a tensor with: 0 with probability ``rate``, else 1 / (1 − rate).

    Args:
        like: Its shape and type, float32, bfloat16 or float16, on a CPU.
        rate: In (0, 1).
    """
    dropped = min(max(round(rate * LEVELS), 1), LEVELS - 1)
    factor = torch.tensor(LEVELS / (LEVELS - dropped), dtype=like.dtype)
    bits = _KEPT[like.dtype]
    mask = torch.empty(like.shape, dtype=like.dtype)
    seed = torch.randint(_LARGEST, ()).item()
    _fill(mask.view(-1).view(bits).numpy(), factor.view(bits).numpy()[()], np.uint64(dropped), np.uint64(seed))
    return mask


@njit(nogil=True, cache=True)
def _fill(mask, factor, dropped, seed):  # type: ignore[no-untyped-def]
    """Elements whose 16 bits of SplitMix64 (Steele et al. 2014) are ``dropped`` or more become ``factor``."""
    whole = len(mask) // 4
    for group in range(whole):  # four at a time, so that no loop within stands in the way of vector instructions
        bits = _hash(seed, group)
        mask[4 * group] = factor if (bits & _LANE) >= dropped else 0
        mask[4 * group + 1] = factor if ((bits >> np.uint64(16)) & _LANE) >= dropped else 0
        mask[4 * group + 2] = factor if ((bits >> np.uint64(32)) & _LANE) >= dropped else 0
        mask[4 * group + 3] = factor if (bits >> np.uint64(48)) >= dropped else 0
    bits = _hash(seed, whole)
    for place in range(4 * whole, len(mask)):
        mask[place] = factor if (bits & _LANE) >= dropped else 0
        bits >>= np.uint64(16)


@njit(nogil=True, cache=True, inline="always")
def _hash(seed, number):  # type: ignore[no-untyped-def]
    bits = seed + np.uint64(number) * np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))
