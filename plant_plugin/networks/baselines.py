"""LAAT, and LibMultiLabel's CAML, BiGRULWAN and BiLSTMLWMHAN, as networks that can be planted.

Of the last three, parameters and functions are those of LibMultiLabel's own networks (tests copy the weights and
compare), with three differences: padding gets no attention, as if each document were alone; a CAML filter of even width
gives as many positions as there are tokens, where LibMultiLabel's gives one more; and the bias that LibMultiLabel's
query layers hold and never read is left out. They start as LibMultiLabel's do with ``init_weight: null``.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from plant_plugin.config import network as arguments
from plant_plugin.config.values import Value
from plant_plugin.errors import ConfigError
from plant_plugin.networks.attention_head import INITIAL_SPREAD, HeadNetwork, LabelwiseHead, LinearReadoutHead
from plant_plugin.networks.backbone import EmbeddedWords, WordBackbone
from plant_plugin.networks.encoders import real_positions


class LAAT(HeadNetwork):
    """Z = tanh(W H), A = softmax(U Z), logit_l = w_l · (A H)_l + b_l, over a bidirectional LSTM's states H.

    Two deviations from the authors' program, the same for every network here: padding gets no attention, and the word
    vectors train too (theirs stay as word2vec left them). Its hierarchical variant, JointLAAT, is not here.

    Source: Vu, Nguyen and Nguyen 2020, A Label Attention Model for ICD Coding from Clinical Text, section 3; start
    values of weights and dropout from the authors' program.
    """

    def __init__(self, num_classes: int, embed_vecs: Tensor, **options: Value) -> None:
        given = arguments.LAAT(**options)
        width, rows = given.hidden_size, given.projection_size
        backbone = _recurrent("bilstm", embed_vecs, given, width, given.num_layers)
        super().__init__(backbone, LabelwiseHead(width, num_classes, rows, given.strength, INITIAL_SPREAD))


class TanhConvolution(nn.Module):
    """One convolution and tanh, one output per token."""

    def __init__(self, input_size: int, num_filters: int, width: int) -> None:
        super().__init__()
        self.conv = nn.Conv1d(input_size, num_filters, width, padding=width // 2)
        nn.init.xavier_uniform_(self.conv.weight)

    def forward(self, embedded: Tensor, length: Tensor) -> Tensor:
        """Encode ``embedded`` (B, T, input_size), ``length`` (B,) positions of it real, to (B, T, H)."""
        words = (embedded * real_positions(embedded, length).unsqueeze(2)).transpose(1, 2)
        return torch.tanh(self.conv(words)[:, :, : embedded.shape[1]].transpose(1, 2))


class PlantedCAML(HeadNetwork):
    """CAML: a convolution and one attention vector per label.

    Source: Mullenbach et al. 2018, Explainable Prediction of Medical Codes from Clinical Text; LibMultiLabel's CAML.
    """

    def __init__(self, num_classes: int, embed_vecs: Tensor, **options: Value) -> None:
        given = arguments.PlantedCAML(**options)
        if len(given.filter_sizes) != 1:
            what = f"CAML has one filter size, not {len(given.filter_sizes)}"
            raise ConfigError(what, where="network_config: filter_sizes", fix="e.g. [10]; MultiResCNN takes several")
        width = given.num_filter_per_size
        encoder = TanhConvolution(embed_vecs.shape[1], width, given.filter_sizes[0])
        backbone = EmbeddedWords(encoder, width, embed_vecs, given.embed_dropout)
        super().__init__(backbone, convolution_head(width, num_classes, given.strength))


def convolution_head(width: int, num_labels: int, strength: float | None) -> LabelwiseHead:
    """The head of CAML and MultiResCNN: queries and outputs start as Glorot and Bengio draw them."""
    head = LabelwiseHead(width, num_labels, prior_strength=strength)
    nn.init.xavier_uniform_(head.query.weight)
    nn.init.xavier_uniform_(head.output.weight)
    return head


class PlantedBiGRULWAN(HeadNetwork):
    """A bidirectional GRU under label-wise attention.

    Source: LibMultiLabel's BiGRULWAN.
    """

    def __init__(self, num_classes: int, embed_vecs: Tensor, **options: Value) -> None:
        given = arguments.PlantedBiGRULWAN(**options)
        backbone = _recurrent("bigru", embed_vecs, given, given.rnn_dim, given.rnn_layers)
        super().__init__(backbone, LabelwiseHead(given.rnn_dim, num_classes, prior_strength=given.strength))


class MultiHeadLabelwiseHead(LinearReadoutHead):
    """Multi-head attention of label embeddings over tokens, then one output vector per label; heads divide the width.

    Source: LibMultiLabel's LabelwiseMultiHeadAttention and LabelwiseLinearOutput.
    """

    def __init__(
        self, hidden_size: int, num_labels: int, num_heads: int = 8, prior_strength: float | None = None
    ) -> None:
        super().__init__(num_labels, num_heads, prior_strength)
        self.query = nn.Linear(hidden_size, num_labels, bias=False)
        self.projections = nn.MultiheadAttention(hidden_size, num_heads)  # holds the weights; its forward is not used
        self.output = nn.Linear(hidden_size, num_labels)

    def attention_parameters(self) -> list[nn.Parameter]:
        """Label embeddings and the input projections, whose rows for the values get no gradient in stage 1."""
        inputs = [part for name, part in self.projections.named_parameters() if name.startswith("in_proj")]
        return [*self.query.parameters(), *inputs]

    def queries(self, labels: Tensor | None = None) -> Tensor:
        """Projected label embeddings over √D, (…, A, D)."""
        queries = self._project(self.query.weight, 0)
        queries = queries / math.sqrt(queries.shape[-1])
        return queries if labels is None else queries[labels]

    def plant_queries(self, queries: Tensor) -> None:
        """Make them the label embeddings, behind a projection that starts as the identity."""
        width = self.query.in_features
        with torch.no_grad():
            self.projections.in_proj_weight[:width].copy_(torch.eye(width))
            self.projections.in_proj_bias[:width].zero_()
            self.query.weight.copy_(queries.flatten(1) * math.sqrt(queries.shape[-1]))

    def keys(self, states: Tensor) -> Tensor:
        """(B, T, A, D)."""
        return self._project(states, 1)

    def values(self, states: Tensor) -> Tensor:
        """(B, T, A, D)."""
        return self._project(states, 2)

    def outputs(self, labels: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Output vectors behind the merge of the heads, (…, A, D), and their bias (…,)."""
        merge = self.projections.out_proj
        outputs = (self.output.weight @ merge.weight).unflatten(-1, (self.num_heads, -1))
        bias = self.output.bias + self.output.weight @ merge.bias
        return (outputs, bias) if labels is None else (outputs[labels], bias[labels])

    def _project(self, states: Tensor, which: int) -> Tensor:
        weight, bias = self.projections.in_proj_weight.chunk(3)[which], self.projections.in_proj_bias.chunk(3)[which]
        return nn.functional.linear(states, weight, bias).unflatten(-1, (self.num_heads, -1))


class PlantedBiLSTMLWMHAN(HeadNetwork):
    """A bidirectional LSTM under label-wise attention with several heads.

    Source: LibMultiLabel's BiLSTMLWMHAN; its ``labelwise_attention_dropout`` (0 unless set) is not offered.
    """

    def __init__(self, num_classes: int, embed_vecs: Tensor, **options: Value) -> None:
        given = arguments.PlantedBiLSTMLWMHAN(**options)
        if given.rnn_dim % given.num_heads:
            what = f"num_heads {given.num_heads} does not divide rnn_dim {given.rnn_dim}"
            raise ConfigError(what, where="network_config: num_heads", fix="choose numbers that divide evenly")
        backbone = _recurrent("bilstm", embed_vecs, given, given.rnn_dim, given.rnn_layers)
        super().__init__(backbone, MultiHeadLabelwiseHead(given.rnn_dim, num_classes, given.num_heads, given.strength))


def _recurrent(
    kind: str, vectors: Tensor, given: arguments.LAAT | arguments.PlantedBiGRULWAN, width: int, layers: int
) -> WordBackbone:
    return WordBackbone(
        kind,
        vectors,
        embed_dropout=given.embed_dropout,
        hidden_size=width,
        num_layers=layers,
        encoder_dropout=given.encoder_dropout,
        post_encoder_dropout=given.post_encoder_dropout,
    )
