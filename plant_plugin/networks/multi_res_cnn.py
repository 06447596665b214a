"""The network ``MultiResCNN``: convolutions of several widths with residual blocks, under CAML's label attention."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from plant_plugin.config import network as arguments
from plant_plugin.errors import ConfigError
from plant_plugin.networks.attention_head import HeadNetwork, LabelwiseHead
from plant_plugin.networks.backbone import EmbeddedWords
from plant_plugin.networks.encoders import real_positions


class RealBatchNorm(nn.Module):
    """Batch norm over real tokens only, so that padding changes neither the statistics nor the states."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(channels)

    def forward(self, states: Tensor, real: Tensor) -> Tensor:
        """States (B, C, T) normalised where ``real`` (B, T), zero elsewhere."""
        by_token = states.transpose(1, 2)  # (B, T, C)
        tokens, norm = by_token[real], self.norm
        if self.training and len(tokens) == 1:  # one token has no variance: normalised by what was seen so far
            means = (norm.running_mean, norm.running_var)
            found = nn.functional.batch_norm(tokens, *means, norm.weight, norm.bias, eps=norm.eps)
        else:
            found = norm(tokens)
        return torch.zeros_like(by_token, dtype=found.dtype).masked_scatter(real.unsqueeze(2), found).transpose(1, 2)


class ResidualBlock(nn.Module):
    """tanh(BN(conv(tanh(BN(conv(x))))) + BN(conv₁(x))), the two convolutions ``width`` tokens wide; then dropout."""

    def __init__(self, inputs: int, outputs: int, width: int, dropout: float) -> None:
        super().__init__()
        self.first = nn.Conv1d(inputs, outputs, width, padding="same", bias=False)
        self.second = nn.Conv1d(outputs, outputs, width, padding="same", bias=False)
        self.shortcut = nn.Conv1d(inputs, outputs, 1, bias=False)
        self.norms = nn.ModuleList(RealBatchNorm(outputs) for _ in range(3))
        self.dropout = nn.Dropout(dropout)

    def forward(self, states: Tensor, real: Tensor) -> Tensor:
        """States (B, C, T) to (B, C', T); ``real`` (B, T)."""
        first, second, shortcut = self.norms
        inner = torch.tanh(first(self.first(states), real))
        left = second(self.second(inner), real)
        outputs: Tensor = self.dropout(torch.tanh(left + shortcut(self.shortcut(states), real)))
        return outputs


class ResidualBlocks(nn.ModuleList):
    """Residual blocks, one after the other."""

    def forward(self, states: Tensor, real: Tensor) -> Tensor:
        """States (B, C, T) to (B, C', T); ``real`` (B, T)."""
        for block in self:
            states = block(states, real)
        return states


class ResidualFilters(nn.Module):
    """For each width a convolution with tanh and its residual blocks; the outputs of all widths joined.

    Args:
        input_size: Size of one embedded token; the first convolution keeps it.
        filter_sizes: Widths in tokens.
        num_filters: Output channels of each width.
        inner_sizes: Output channels of the residual blocks before the last one.
        dropout: Of each residual block's output, in [0, 1).
    """

    def __init__(
        self, input_size: int, filter_sizes: Sequence[int], num_filters: int, inner_sizes: Sequence[int], dropout: float
    ) -> None:
        super().__init__()
        convolutions = [nn.Conv1d(input_size, input_size, width, padding="same") for width in filter_sizes]
        for convolution in convolutions:
            nn.init.xavier_uniform_(convolution.weight)
        self.convolutions = nn.ModuleList(convolutions)
        sizes = [input_size, *inner_sizes, num_filters]
        self.blocks = nn.ModuleList(
            ResidualBlocks(ResidualBlock(before, after, width, dropout) for before, after in pairwise(sizes))
            for width in filter_sizes
        )

    def forward(self, embedded: Tensor, length: Tensor) -> Tensor:
        """Encode ``embedded`` (B, T, input_size), ``length`` (B,) positions of it real, to (B, T, H)."""
        real = real_positions(embedded, length)
        inside = real.unsqueeze(1)  # (B, 1, T)
        words = embedded.transpose(1, 2) * inside
        found = []
        for convolution, blocks in zip(self.convolutions, self.blocks, strict=True):
            found.append(blocks(torch.tanh(convolution(words)) * inside, real))
        return torch.cat(found, dim=1).transpose(1, 2)


class MultiResCNN(HeadNetwork):
    """Convolutions of several widths, each with residual blocks, under one attention vector per label.

    Padding is not read: not by the convolutions, not by the batch norms, not by the attention.

    Args:
        num_classes: L.
        embed_vecs: (V, dim) word vectors.
        options: :class:`plant_plugin.config.network.MultiResCNN`.

    Raises:
        ConfigError: No filter size, or an unknown ``planted_prior``.

    Source: Li and Yu 2020, ICD Coding from Clinical Text Using Multi-Filter Residual Convolutional Neural Network.
    """

    def __init__(self, num_classes: int, embed_vecs: Tensor, **options: Any) -> None:
        given = arguments.MultiResCNN(**options)
        if not given.filter_sizes:
            raise ConfigError("there is no filter size", where="network_config: filter_sizes", fix="e.g. [3, 5, 9]")
        filters, sizes = given.num_filter_per_size, given.filter_sizes
        encoder = ResidualFilters(embed_vecs.shape[1], sizes, filters, given.inner_sizes, given.dropout)
        width = len(sizes) * filters
        head = LabelwiseHead(width, num_classes, prior_strength=given.strength)
        nn.init.xavier_uniform_(head.query.weight)
        nn.init.xavier_uniform_(head.output.weight)
        super().__init__(EmbeddedWords(encoder, width, embed_vecs, given.dropout), head)
