"""LibMultiLabel's word-level encoders with one calling convention, and its loader of GloVe vectors."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from libmultilabel.nn import data_utils
from libmultilabel.nn.networks.modules import CNNEncoder, GRUEncoder, LSTMEncoder, RNNEncoder
from torch import Tensor, nn

from plant_plugin.errors import ConfigError, PlantError

RECURRENT = {"bigru": GRUEncoder, "bilstm": LSTMEncoder}


class SameLengthCNN(nn.Module):
    """LibMultiLabel's convolution with one output per token: what was shorter by ``filter - 1`` is padded before.

    The input is padded with ``floor((filter - 1) / 2)`` zeros on the left and ``ceil`` of it on the right, and what
    stands behind a document's length is set to zero first, so that the output on real tokens does not depend on how
    far the batch was padded.

    Args:
        input_size: Size of one embedded token.
        filter_sizes: Widths in tokens; their outputs are joined along the last axis.
        num_filters: Output channels for each width.
        activation: Name of a function of ``torch`` or ``torch.nn.functional``.
        dropout: Probability of dropping an output element, in [0, 1).
    """

    def __init__(
        self, input_size: int, filter_sizes: Sequence[int], num_filters: int, activation: str, dropout: float
    ) -> None:
        super().__init__()
        # One encoder for each width: LibMultiLabel's own joins widths only when their output lengths agree.
        self.encoders = nn.ModuleList(
            CNNEncoder(input_size, [size], num_filters, activation, dropout, channel_last=True) for size in filter_sizes
        )
        self.filter_sizes = list(filter_sizes)

    def forward(self, embedded: Tensor, length: Tensor) -> Tensor:
        """Encode ``embedded`` (B, T, input_size), ``length`` (B,) positions of it real, to (B, T, H)."""
        positions = torch.arange(embedded.shape[1], device=embedded.device)
        real = positions < length.to(embedded.device).unsqueeze(1)  # (B, T)
        embedded = embedded.masked_fill(~real.unsqueeze(2), 0.0)
        outputs = []
        for size, encoder in zip(self.filter_sizes, self.encoders, strict=True):
            left = (size - 1) // 2
            outputs.append(encoder(nn.functional.pad(embedded, (0, 0, left, size - 1 - left))))  # (B, T, filters)
        return torch.cat(outputs, dim=2)  # (B, T, H)


class SameLengthRNN(nn.Module):
    """LibMultiLabel's recurrent encoder with one output per position, and zeros behind a document's length.

    Where a CPU computes a gradient each direction of a layer runs over the padded batch instead of a packed one, the
    second one over documents that are turned round within their length: the same numbers. The backward pass of a packed
    sequence makes a gradient of the whole sequence at every step, so that its time grows with the square of the length:
    it took 0.58 s (GRU) and 0.88 s (LSTM) for 16 documents of up to 400 words, 64 units a direction and one core; this
    way takes 0.15 and 0.04 s.
    """

    encoder: GRUEncoder | LSTMEncoder

    def __init__(self, encoder: GRUEncoder | LSTMEncoder) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, embedded: Tensor, length: Tensor) -> Tensor:
        """Encode ``embedded`` (B, T, input_size), ``length`` (B,) positions of it real, to (B, T, H)."""
        if is_quicker_unpacked(embedded):
            return unpacked(self.encoder, embedded, length)
        encoded = self.encoder(embedded, length)  # (B, longest document, H)
        return nn.functional.pad(encoded, (0, 0, 0, embedded.shape[1] - encoded.shape[1]))  # (B, T, H)


def is_quicker_unpacked(embedded: Tensor) -> bool:
    """Whether a gradient will be computed on a CPU."""
    return embedded.device.type == "cpu" and torch.is_grad_enabled()


def unpacked(encoder: RNNEncoder, states: Tensor, length: Tensor) -> Tensor:
    """What LibMultiLabel's encoder makes of ``states`` (B, T, input_size), (B, T, H), without packing them.

    Zero behind the ``length`` (B,) of each document, of which an empty one has 1, as there.
    """
    rnn, length = encoder.rnn, length.clamp(min=1)
    real = torch.arange(states.shape[1]) < length[:, None]  # (B, T)
    with torch.autocast("cpu", enabled=False):  # an LSTM would be narrow here, not when packed
        for layer in range(rnn.num_layers):
            forward = one_direction(rnn, f"l{layer}", states)
            backward = one_direction(rnn, f"l{layer}_reverse", turned(states, length))
            states = torch.cat([forward, turned(backward, length)], dim=2)
            if layer < rnn.num_layers - 1:
                states = nn.functional.dropout(states, rnn.dropout, rnn.training)
        encoded: Tensor = encoder.post_encoder_dropout(states * real[..., None])
    return encoded


@contextmanager
def without_packing() -> Iterator[None]:
    """LibMultiLabel's own recurrent networks train :func:`unpacked` on a CPU as long as this lasts."""
    packed = RNNEncoder.forward

    def forward(self: RNNEncoder, input: Tensor, length: Tensor, **kwargs: Any) -> Tensor:
        if is_quicker_unpacked(input):
            return unpacked(self, input[:, : int(length.max().clamp(min=1))], length)
        encoded: Tensor = packed(self, input, length, **kwargs)
        return encoded

    RNNEncoder.forward = forward
    try:
        yield
    finally:
        RNNEncoder.forward = packed


def one_direction(
    rnn: nn.GRU | nn.LSTM, suffix: str, states: Tensor, start: tuple[Tensor, ...] | None = None
) -> Tensor:
    """Outputs (B, T, units) of one direction of one layer, from what :func:`state_at_zero` gives or a later state."""
    start = start or state_at_zero(rnn, states)
    # one layer with biases, no dropout in it, one direction, documents first
    options = (True, 1, 0.0, rnn.training, False, True)
    if isinstance(rnn, nn.LSTM):
        return torch.lstm(states, start, _weights(rnn, suffix), *options)[0]
    return torch.gru(states, start[0], _weights(rnn, suffix), *options)[0]


def state_at_zero(rnn: nn.GRU | nn.LSTM, states: Tensor) -> tuple[Tensor, ...]:
    """What one direction starts from, for ``states`` (B, …): hidden and, of an LSTM, cell state, each (1, B, units)."""
    return (states.new_zeros(1, len(states), rnn.hidden_size),) * (2 if isinstance(rnn, nn.LSTM) else 1)


@torch.no_grad()
def carry_on(
    rnn: nn.GRU | nn.LSTM, suffix: str, states: Tensor, length: Tensor, start: tuple[Tensor, ...]
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """One direction of one layer over ``length`` (B,) positions of ``states`` (B, T, …), which may be none.

    Returns:
        Outputs (B, T, units), zero behind the length, and each document's state behind its last position.
    """
    outputs, after = states.new_zeros(*states.shape[:2], rnn.hidden_size), tuple(part.clone() for part in start)
    rows = length.nonzero().flatten()
    if not len(rows):
        return outputs, after
    packed = nn.utils.rnn.pack_padded_sequence(states[rows], length[rows].cpu(), True, enforce_sorted=False)
    assert packed.sorted_indices is not None
    ordered = rows[packed.sorted_indices]
    begin, weights = [part[:, ordered] for part in start], _weights(rnn, suffix)
    options = (True, 1, 0.0, rnn.training, False)  # as above; packed
    if isinstance(rnn, nn.LSTM):
        found, *ends = torch.lstm(packed.data, packed.batch_sizes, begin, weights, *options)
    else:
        found, *ends = torch.gru(packed.data, packed.batch_sizes, begin[0], weights, *options)
    for part, end in zip(after, ends, strict=True):
        part[:, ordered] = end
    whole = nn.utils.rnn.PackedSequence(found, packed.batch_sizes, packed.sorted_indices, packed.unsorted_indices)
    outputs[rows] = nn.utils.rnn.pad_packed_sequence(whole, True, total_length=states.shape[1])[0]
    return outputs, after


def turned(states: Tensor, length: Tensor) -> Tensor:
    """``states`` (B, T, …) with the first ``length`` (B,) positions of each document turned round."""
    positions = torch.arange(states.shape[1], device=states.device).expand(states.shape[:2])
    places = torch.where(positions < length[:, None], length[:, None] - 1 - positions, positions)
    return states.gather(1, places[..., None].expand_as(states))


def _weights(rnn: nn.GRU | nn.LSTM, suffix: str) -> list[Tensor]:
    return [getattr(rnn, f"{name}_{suffix}") for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]


def word_encoder(
    kind: str,
    input_size: int,
    *,
    hidden_size: int = 512,
    num_layers: int = 1,
    filter_sizes: Sequence[int] = (10,),
    activation: str = "tanh",
    encoder_dropout: float = 0.0,
    post_encoder_dropout: float = 0.0,
) -> tuple[nn.Module, int]:
    """Build one of LibMultiLabel's encoders of embedded words; every kind is called and answers alike.

    The module is called with ``embedded`` (B, T, input_size) and ``length`` (B,) and returns (B, T, hidden_size).

    Args:
        kind: ``cnn``, ``bigru`` or ``bilstm``.
        input_size: Size of one embedded token.
        hidden_size: Output size H: both directions together (as LibMultiLabel's ``rnn_dim``), or all filters together.
        num_layers: Recurrent layers; ``cnn`` has one and ignores it.
        filter_sizes: Widths of the ``cnn``, in tokens; the others ignore it.
        activation: Function after the ``cnn``; the others ignore it.
        encoder_dropout: Dropout between recurrent layers, in [0, 1); without effect when there is one.
        post_encoder_dropout: Dropout of the output, in [0, 1).

    Returns:
        The module and its output size.

    Raises:
        ConfigError: An unknown kind, or a hidden size that cannot be shared out.
    """
    if kind in RECURRENT:
        if hidden_size % 2:
            raise _unfit(f"hidden_size {hidden_size} is odd, but it is shared by two directions", "hidden_size")
        encoder = RECURRENT[kind](input_size, hidden_size // 2, num_layers, encoder_dropout, post_encoder_dropout)
        return SameLengthRNN(encoder), hidden_size
    if kind != "cnn":
        raise ConfigError(
            f"no encoder is called {kind!r}", where="network_config: encoder", fix="use cnn, bigru or bilstm"
        )
    if not filter_sizes or hidden_size % len(filter_sizes):
        raise _unfit(f"hidden_size {hidden_size} cannot be shared out to {len(filter_sizes)} widths", "filter_sizes")
    num_filters = hidden_size // len(filter_sizes)
    return SameLengthCNN(input_size, filter_sizes, num_filters, activation, post_encoder_dropout), hidden_size


def _unfit(what: str, key: str) -> ConfigError:
    return ConfigError(what, where=f"network_config: {key}", fix="choose a hidden_size that divides evenly")


def glove_vectors(name: str, word_dict: dict[str, int], cache_dir: str | Path | None = None) -> Tensor:
    """Vectors of a named GloVe release for a vocabulary, downloaded and cached by LibMultiLabel's loader.

    The row of ``<unk>`` is random normal (torch's global generator), words without a vector get zeros.

    Args:
        name: One of LibMultiLabel's six names, e.g. ``glove.6B.100d``.
        word_dict: Word to row; holds ``<unk>``.
        cache_dir: Folder of downloaded vectors; None is LibMultiLabel's ``.vector_cache``.

    Returns:
        float32 (V, dim).

    Raises:
        ConfigError: The name is not one of them.
        PlantError: The download failed or was cut short.
    """
    if name not in data_utils.GLOVE_WORD_EMBEDDING:
        known = ", ".join(sorted(data_utils.GLOVE_WORD_EMBEDDING))
        raise ConfigError(f"{name!r} is no GloVe release", where="embed_file", fix=f"use one of {known}, or a file")
    folder = Path(cache_dir or ".vector_cache")
    ensure_glove(name, folder)
    vectors: Tensor = data_utils.get_embedding_weights_from_file(word_dict, name, silent=True, cache_dir=str(folder))
    return vectors


def ensure_glove(name: str, folder: Path) -> None:
    """Have LibMultiLabel download a GloVe release unless it is cached.

    Raises:
        PlantError: The download failed or was cut short; no broken archive is left behind.
    """
    if (folder / f"{name}.txt").is_file():
        return
    try:
        data_utils._download_glove_embedding(name, cache_dir=str(folder))
    except Exception as error:
        # LibMultiLabel's clean-up names a variable that is not yet set when the download itself fails.
        cause: BaseException = (
            error.__context__ if isinstance(error, UnboundLocalError) and error.__context__ else error
        )
        for archive in folder.glob("*.zip"):
            os.remove(archive)
        raise PlantError(
            f"the vectors {name} could not be downloaded ({type(cause).__name__}: {cause})",
            where="embed_file",
            fix=f"put {name}.txt into {folder}, or train vectors on your own text: plant embeddings TRAIN --out FILE",
        ) from cause


def is_glove_name(embed_file: Any) -> bool:
    """Whether ``embed_file`` names a GloVe release rather than a file."""
    return embed_file in data_utils.GLOVE_WORD_EMBEDDING
