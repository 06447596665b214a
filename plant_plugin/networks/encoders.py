"""Encoders of embedded words with one calling convention.

They compute what LibMultiLabel's encoders do, and their parameters have the same names, so that the state of a network
can be read either way (``tests/host/test_neural_encoders.py``).

Shape key: **B** documents · **T** token positions · **H** hidden width.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from plant_plugin.errors import ConfigError

RECURRENT: dict[str, type[nn.GRU | nn.LSTM]] = {"bigru": nn.GRU, "bilstm": nn.LSTM}


class Convolution(nn.Module):
    """Filters of one width over words, tanh and dropout; the output is shorter by ``filter_size - 1``."""

    def __init__(self, input_size: int, filter_size: int, num_filters: int, dropout: float) -> None:
        super().__init__()
        self.convs = nn.ModuleList([nn.Conv1d(input_size, num_filters, filter_size)])
        self.post_encoder_dropout = nn.Dropout(dropout)

    def forward(self, embedded: Tensor) -> Tensor:
        """Encode ``embedded`` (B, T, input_size) to (B, T - filter_size + 1, num_filters)."""
        dropped: Tensor = self.post_encoder_dropout(self.convs[0](embedded.transpose(1, 2)).transpose(1, 2).tanh())
        return dropped


class Recurrent(nn.Module):
    """Layers of a recurrent network, ``batch_first`` and in both directions, over packed documents; then dropout."""

    def __init__(self, rnn: nn.GRU | nn.LSTM, dropout: float) -> None:
        super().__init__()
        self.rnn = rnn
        self.post_encoder_dropout = nn.Dropout(dropout)

    def forward(self, embedded: Tensor, length: Tensor) -> Tensor:
        """Encode ``embedded`` (B, T, input_size), ``length`` (B,) of it real, to (B, longest document, H)."""
        self.rnn.flatten_parameters()
        filled = length.cpu().clamp(min=1)  # an empty document has one position
        packed = pack_padded_sequence(embedded, filled, batch_first=True, enforce_sorted=False)
        encoded: Tensor = self.post_encoder_dropout(pad_packed_sequence(self.rnn(packed)[0], batch_first=True)[0])
        return encoded


class SameLengthCNN(nn.Module):
    """Convolutions with one output per token; the ``num_filters`` channels of each width in tokens are joined.

    The input is padded with ``floor((filter - 1) / 2)`` zeros on the left and ``ceil`` of it on the right. Positions
    after a document's length are set to zero first, so that the output on real tokens does not depend on the padding.
    """

    def __init__(self, input_size: int, filter_sizes: Sequence[int], num_filters: int, dropout: float) -> None:
        super().__init__()
        self.encoders = nn.ModuleList(Convolution(input_size, size, num_filters, dropout) for size in filter_sizes)
        self.filter_sizes = list(filter_sizes)

    def forward(self, embedded: Tensor, length: Tensor) -> Tensor:
        """Encode ``embedded`` (B, T, input_size), ``length`` (B,) positions of it real, to (B, T, H)."""
        embedded = embedded.masked_fill(~real_positions(embedded, length).unsqueeze(2), 0.0)
        outputs = []
        for size, encoder in zip(self.filter_sizes, self.encoders, strict=True):
            left = (size - 1) // 2
            outputs.append(encoder(functional.pad(embedded, (0, 0, left, size - 1 - left))))  # (B, T, filters)
        return torch.cat(outputs, dim=2)  # (B, T, H)


class TanhConvolution(nn.Module):
    """A convolution and tanh, one output per token; an even width reads further to the left.

    Source: LibMultiLabel's CAML.
    """

    def __init__(self, input_size: int, num_filters: int, width: int) -> None:
        super().__init__()
        self.conv = nn.Conv1d(input_size, num_filters, width, padding=width // 2)
        nn.init.xavier_uniform_(self.conv.weight)

    def forward(self, embedded: Tensor, length: Tensor) -> Tensor:
        """Encode ``embedded`` (B, T, input_size), ``length`` (B,) positions of it real, to (B, T, H)."""
        words = (embedded * real_positions(embedded, length).unsqueeze(2)).transpose(1, 2)
        return torch.tanh(self.conv(words)[:, :, : embedded.shape[1]].transpose(1, 2))


class SameLengthRNN(nn.Module):
    """A recurrent encoder with one output per position, and zeros after a document's length.

    Where a CPU computes a gradient, each direction of a layer runs over the padded batch instead of a packed one. The
    second direction reads documents that are turned round within their length. The numbers are the same. The backward
    pass of a packed sequence makes a gradient of the whole sequence at every step, so that its time grows with the
    square of the length: for 16 documents of up to 400 words it took 4 (GRU) and 20 times (LSTM) as long.
    """

    def __init__(self, encoder: Recurrent) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, embedded: Tensor, length: Tensor) -> Tensor:
        """Encode ``embedded`` (B, T, input_size), ``length`` (B,) positions of it real, to (B, T, H)."""
        if is_quicker_unpacked(embedded):
            return unpacked(self.encoder.rnn, self.encoder.post_encoder_dropout, embedded, length)
        encoded = self.encoder(embedded, length)  # (B, longest document, H)
        return functional.pad(encoded, (0, 0, 0, embedded.shape[1] - encoded.shape[1]))  # (B, T, H)


def real_positions(embedded: Tensor, length: Tensor) -> Tensor:
    """Return the mask (B, T) of the positions of ``embedded`` (B, T, …) that are within ``length`` (B,)."""
    return torch.arange(embedded.shape[1], device=embedded.device) < length.to(embedded.device)[:, None]


def is_quicker_unpacked(embedded: Tensor) -> bool:
    """Tell whether a gradient will be computed on a CPU."""
    return embedded.device.type == "cpu" and torch.is_grad_enabled()


def unpacked(rnn: nn.GRU | nn.LSTM, dropout: nn.Module, states: Tensor, length: Tensor) -> Tensor:
    """Run both directions of all layers over ``states`` (B, T, input_size) without packing them.

    Returns:
        (B, T, H), zero after the ``length`` (B,) of each document; an empty document has one position.
    """
    length = length.clamp(min=1)
    real = real_positions(states, length)
    with torch.autocast("cpu", enabled=False):  # an LSTM would be narrow here, not when packed
        for layer in range(rnn.num_layers):
            forward = one_direction(rnn, f"l{layer}", states)
            backward = one_direction(rnn, f"l{layer}_reverse", turned(states, length))
            states = torch.cat([forward, turned(backward, length)], dim=2)
            if layer < rnn.num_layers - 1:
                states = functional.dropout(states, rnn.dropout, rnn.training)
        encoded: Tensor = dropout(states * real[..., None])
    return encoded


def one_direction(rnn: nn.GRU | nn.LSTM, suffix: str, states: Tensor) -> Tensor:
    """Run one direction of one layer, from zero, over ``states`` (B, T, …), to outputs (B, T, units)."""
    zero = states.new_zeros(1, len(states), rnn.hidden_size)
    # one layer with biases, no dropout in it, one direction, documents first
    options = (True, 1, 0.0, rnn.training, False, True)
    if isinstance(rnn, nn.LSTM):
        return torch.lstm(states, (zero, zero), weights_of(rnn, suffix), *options)[0]
    return torch.gru(states, zero, weights_of(rnn, suffix), *options)[0]


def turned(states: Tensor, length: Tensor) -> Tensor:
    """Turn the first ``length`` (B,) positions of each document of ``states`` (B, T, …) round."""
    positions = torch.arange(states.shape[1], device=states.device).expand(states.shape[:2])
    places = torch.where(positions < length[:, None], length[:, None] - 1 - positions, positions)
    return states.gather(1, places[..., None].expand_as(states))


def weights_of(rnn: nn.GRU | nn.LSTM, suffix: str) -> list[Tensor]:
    """Return the weights of one direction of one layer: input-to-hidden, hidden-to-hidden, and both biases."""
    return [getattr(rnn, f"{name}_{suffix}") for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]


def word_encoder(
    kind: str,
    input_size: int,
    *,
    hidden_size: int = 512,
    num_layers: int = 1,
    filter_sizes: Sequence[int] = (10,),
    post_encoder_dropout: float = 0.0,
) -> tuple[nn.Module, int]:
    """Return an encoder of embedded words (``cnn``, ``bigru`` or ``bilstm``) and its output size.

    Every kind is called with ``embedded`` (B, T, input_size) and ``length`` (B,) and returns (B, T, hidden_size).

    Args:
        kind: ``cnn``, ``bigru`` or ``bilstm``.
        input_size: Size of one embedded token.
        hidden_size: Both directions together (as LibMultiLabel's ``rnn_dim``), or all filters together.
        num_layers: Layers of a recurrent encoder.
        filter_sizes: Widths of the ``cnn``, in tokens.
        post_encoder_dropout: Dropout of the output, in [0, 1).

    Raises:
        ConfigError: An unknown kind, or a hidden size that cannot be shared out.
    """
    evenly = "choose a hidden_size that divides evenly"
    if kind in RECURRENT:
        if hidden_size % 2:
            what = f"hidden_size {hidden_size} is odd, but it is shared by two directions"
            raise ConfigError(what, where="network_config: hidden_size", fix=evenly)
        rnn = RECURRENT[kind](input_size, hidden_size // 2, num_layers, batch_first=True, bidirectional=True)
        return SameLengthRNN(Recurrent(rnn, post_encoder_dropout)), hidden_size
    if kind != "cnn":
        what = f"no encoder is called {kind!r}"
        raise ConfigError(what, where="network_config: encoder", fix="use cnn, bigru or bilstm")
    if not filter_sizes or hidden_size % len(filter_sizes):
        what = f"hidden_size {hidden_size} cannot be shared out to {len(filter_sizes)} widths"
        raise ConfigError(what, where="network_config: filter_sizes", fix=evenly)
    num_filters = hidden_size // len(filter_sizes)
    return SameLengthCNN(input_size, filter_sizes, num_filters, post_encoder_dropout), hidden_size
