"""LibMultiLabel's recurrent encoders without packed sequences, whose backward pass is slow on CPUs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from libmultilabel.nn.networks.modules import RNNEncoder
from torch import Tensor

from plant_plugin.networks.encoders import is_quicker_unpacked, unpacked


@contextmanager
def without_packing() -> Iterator[None]:
    """LibMultiLabel's own recurrent networks train :func:`unpacked` on a CPU as long as this lasts."""
    packed = RNNEncoder.forward

    def forward(self: RNNEncoder, input: Tensor, length: Tensor, **kwargs: Any) -> Tensor:
        if is_quicker_unpacked(input):
            return unpacked(self.rnn, self.post_encoder_dropout, input[:, : int(length.max().clamp(min=1))], length)
        encoded: Tensor = packed(self, input, length, **kwargs)
        return encoded

    RNNEncoder.forward = forward
    try:
        yield
    finally:
        RNNEncoder.forward = packed
