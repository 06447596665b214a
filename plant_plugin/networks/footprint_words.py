"""What training PLANT over a word-level encoder needs, as in :mod:`plant_plugin.networks.footprint`.

Shape key: **V** words · **D** width of their embeddings · **H** hidden width · **u** = H/2, units of one direction.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from plant_plugin.networks.footprint import FLOAT, TRAINING, Footprint, Plan, count_head, label_attention

GATES = {"bigru": 3, "bilstm": 4}
# Numbers, in units of u, that one direction of a layer keeps for each token besides its input and its outputs. GRU: of
# torch's own loop over steps. LSTM: gates and cells in oneDNN's workspace; the rest of it, twice as much, is written
# only in the backward pass, when what the label attention kept is gone. Both on a CPU; cuDNN's are not known here.
STEP = {"bigru": 7.0, "bilstm": 5.0}
GRU_NODES = 13_000  # bytes of graph for each step and direction, however wide: measured with torch 2.13
INPUT_COPIES = 3  # the input as it came, and turned over for each direction


@dataclass(frozen=True)
class Words:
    """A word-level encoder.

    Attributes:
        encoder: ``cnn``, ``bigru`` or ``bilstm``.
        vocabulary: V.
        embed_dim: D.
        hidden_size: H.
        num_layers: Of a recurrent encoder.
        filter_sizes: Of the ``cnn``.
        embed_dropout: Dropout of the embedded words.
        encoder_dropout: Dropout between recurrent layers.
        post_encoder_dropout: Dropout of the states.
    """

    encoder: str
    vocabulary: int
    embed_dim: int = 100
    hidden_size: int = 256
    num_layers: int = 1
    filter_sizes: tuple[int, ...] = (9,)
    embed_dropout: float = 0.2
    encoder_dropout: float = 0.0
    post_encoder_dropout: float = 0.2

    @classmethod
    def of(cls, network_config: Mapping[str, Any], vocabulary: int, embed_dim: int) -> Words:
        """From ``network_config``."""
        taken = {name: value for name, value in network_config.items() if name in cls.__annotations__}
        if "filter_sizes" in taken:
            taken["filter_sizes"] = tuple(taken["filter_sizes"])
        return cls(**{**taken, "vocabulary": vocabulary, "embed_dim": embed_dim})

    @property
    def inputs(self) -> list[int]:
        """Width of the input of each layer."""
        return [self.embed_dim, *(self.hidden_size for _ in range(self.num_layers - 1))]


def words_footprint(words: Words, plan: Plan) -> Footprint:
    """Parameters, memory and arithmetic of PLANT over a word-level encoder; everything trains.

    Args:
        words: The encoder.
        plan: What is to be trained; its keys for language models are not read.
    """
    in_encoder, of_head = encoder_parameters(words), count_head(words.hidden_size, plan)
    of_words = words.vocabulary * words.embed_dim
    trained = of_words + in_encoder + of_head
    positions = plan.batch_size * plan.trained_tokens()
    widest = max(words.inputs)
    parts = {
        "weights": trained * FLOAT,
        "gradients and Adam": trained * TRAINING,
        "activations": int(positions * kept_bytes_of_token(words, plan)) + graph_bytes(words, plan),
        "gradients of activations": positions * 2 * (words.hidden_size + widest) * plan.narrow,
        **label_attention(words.hidden_size, plan, words.vocabulary),
    }
    flops = 3 * (2.0 * in_encoder + 4.0 * plan.labels * words.hidden_size)
    return Footprint(of_words + in_encoder, trained, parts, trained * FLOAT, flops)


def encoder_parameters(words: Words) -> int:
    """Parameters of the encoder without the word embeddings."""
    if words.encoder == "cnn":
        filters = words.hidden_size // len(words.filter_sizes)
        return sum(filters * (size * words.embed_dim + 1) for size in words.filter_sizes)
    units = words.hidden_size // 2
    return sum(2 * GATES[words.encoder] * units * (width + units + 2) for width in words.inputs)


def kept_bytes_of_token(words: Words, plan: Plan) -> float:
    """Bytes that the backward pass keeps of embeddings and encoder for each token."""
    width, units = words.hidden_size, words.hidden_size / 2
    masks = words.embed_dim * bool(words.embed_dropout) + width * bool(words.post_encoder_dropout)
    if words.encoder == "cnn":  # each filter width's padded input, and what the activation made
        return plan.noise * masks + plan.narrow * (len(words.filter_sizes) * words.embed_dim + width)
    masks += width * bool(words.encoder_dropout) * (words.num_layers - 1)
    kept = sum(INPUT_COPIES * of_input + width + 2 * STEP[words.encoder] * units for of_input in words.inputs)
    return plan.noise * masks + plan.narrow * kept


def graph_bytes(words: Words, plan: Plan) -> int:
    """Bytes of the graph itself where each step over the longest document is a few nodes of its own."""
    return 2 * words.num_layers * plan.trained_tokens() * GRU_NODES if words.encoder == "bigru" else 0
