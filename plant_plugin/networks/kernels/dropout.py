"""Dropout on a CPU without waiting for random numbers.

torch draws one number after the other, each for one element. Here one hash of 64 bits decides over four elements
(`benchmarks/speed/test_network.py` compares both).
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

LEVELS = 2**16  # rates are rounded to multiples of 1 / LEVELS, as the hash has 16 bits for an element
_BITS = {torch.float32: torch.int32, torch.bfloat16: torch.int16, torch.float16: torch.int16}


class Dropout(nn.Dropout):
    """``torch.nn.Dropout``, whose random numbers on a CPU come from a hash that torch's generator seeds."""

    def forward(self, input: Tensor) -> Tensor:
        """Set elements to 0 with probability ``p`` and divide the others by 1 − p; the tensor has any shape."""
        if not self.training or input.device.type != "cpu" or input.dtype not in _BITS or not 0 < self.p < 1:
            return super().forward(input)
        return input.mul_(keep(input, self.p)) if self.inplace else input * keep(input, self.p)


def take_our_dropout(network: nn.Module) -> None:
    """Put :class:`Dropout` in the place of every ``torch.nn.Dropout`` of a network."""
    for module in network.modules():
        for name, child in module.named_children():
            if type(child) is nn.Dropout:
                setattr(module, name, Dropout(child.p, child.inplace).train(child.training))


def keep(like: Tensor, rate: float) -> Tensor:
    """Draw the factors of a tensor's elements: 0 with probability ``rate``, in (0, 1), else 1 / (1 − rate).

    The tensor is float32, bfloat16 or float16, on a CPU.
    """
    from plant_plugin.networks.kernels.compiled import fill_mask

    dropped = min(max(round(rate * LEVELS), 1), LEVELS - 1)
    factor = torch.tensor(LEVELS / (LEVELS - dropped), dtype=like.dtype)
    bits = _BITS[like.dtype]
    mask = torch.empty(like.shape, dtype=like.dtype)
    seed = torch.randint(2**63 - 1, ()).item()
    fill_mask(mask.view(-1).view(bits).numpy(), factor.view(bits).numpy()[()], np.uint64(dropped), np.uint64(seed))
    return mask
