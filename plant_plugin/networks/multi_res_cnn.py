"""The network ``MultiResCNN``: convolutions of several widths with residual blocks, under CAML's label attention."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

from plant_plugin.config import network as arguments
from plant_plugin.config.values import Value
from plant_plugin.errors import ConfigError
from plant_plugin.networks.attention_head import HeadNetwork
from plant_plugin.networks.backbone import EmbeddedWords
from plant_plugin.networks.baselines import convolution_head
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


class ResidualFilters(nn.Module):
    """For each width a convolution with tanh and its residual blocks; the outputs of all widths joined.

    ``sizes`` are the channels between the residual blocks: those of an embedded token, which the first convolution
    keeps, to those of each width's output.
    """

    def __init__(self, filter_sizes: Sequence[int], sizes: Sequence[int], dropout: float) -> None:
        super().__init__()
        convolutions = [nn.Conv1d(sizes[0], sizes[0], width, padding="same") for width in filter_sizes]
        for convolution in convolutions:
            nn.init.xavier_uniform_(convolution.weight)
        self.convolutions = nn.ModuleList(convolutions)
        self.blocks = nn.ModuleList(
            nn.ModuleList(ResidualBlock(before, after, width, dropout) for before, after in pairwise(sizes))
            for width in filter_sizes
        )

    def forward(self, embedded: Tensor, length: Tensor) -> Tensor:
        """Encode ``embedded`` (B, T, input_size), ``length`` (B,) positions of it real, to (B, T, H)."""
        real = real_positions(embedded, length)
        inside = real.unsqueeze(1)  # (B, 1, T)
        words = embedded.transpose(1, 2) * inside
        found = []
        for convolution, blocks in zip(self.convolutions, self.blocks, strict=True):
            states = torch.tanh(convolution(words)) * inside
            for block in blocks.children():
                states = block(states, real)
            found.append(states)
        return torch.cat(found, dim=1).transpose(1, 2)


class MultiResCNN(HeadNetwork):
    """Convolutions of several widths, each with residual blocks, under one attention vector per label.

    Padding is not read: not by the convolutions, not by the batch norms, not by the attention.

    Source: Li and Yu 2020, ICD Coding from Clinical Text Using Multi-Filter Residual Convolutional Neural Network.
    """

    def __init__(self, num_classes: int, embed_vecs: Tensor, **options: Value) -> None:
        given = arguments.MultiResCNN(**options)
        if not given.filter_sizes:
            raise ConfigError("there is no filter size", where="network_config: filter_sizes", fix="e.g. [3, 5, 9]")
        sizes = [embed_vecs.shape[1], *given.inner_sizes, given.num_filter_per_size]
        encoder = ResidualFilters(given.filter_sizes, sizes, given.dropout)
        width = len(given.filter_sizes) * given.num_filter_per_size
        backbone = EmbeddedWords(encoder, width, embed_vecs, given.dropout)
        super().__init__(backbone, convolution_head(width, num_classes, given.strength))
