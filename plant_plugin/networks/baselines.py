"""LAAT, MultiResCNN, and LibMultiLabel's CAML and BiGRULWAN, as networks that can be planted.

CAML and BiGRULWAN have the parameters and functions of LibMultiLabel's networks (tests copy the weights and compare),
with three differences. Padding gets no attention, so that a document has the same logits in every batch. A CAML filter
of even width gives as many positions as there are tokens, where LibMultiLabel's gives a further position. The bias that
LibMultiLabel's query layers hold and never read is left out. They start as LibMultiLabel's do with ``init_weight:
null``.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from plant_plugin.config.values import Value
from plant_plugin.networks import options
from plant_plugin.networks.attention_head import INITIAL_SPREAD, HeadNetwork, LabelwiseHead
from plant_plugin.networks.backbone import EmbeddedWords, WordBackbone, read_options
from plant_plugin.networks.backbone.words import Backbone
from plant_plugin.networks.encoders import TanhConvolution, real_positions

RESIDUAL_DROPOUT = 0.2  # of MultiResCNN's embedded words and of each residual block's output; its authors' value


class LAAT(HeadNetwork):
    """Z = tanh(W H), A = softmax(U Z), logit_l = w_l · (A H)_l + b_l, over a bidirectional LSTM's states H.

    Two deviations from the authors' program hold for every network here: padding gets no attention, and the word
    vectors train too (theirs stay as word2vec left them). The hierarchical variant, JointLAAT, is not here.

    Source: Vu, Nguyen and Nguyen 2020, A Label Attention Model for ICD Coding from Clinical Text, section 3; start
    values of weights and dropout from the authors' program.
    """

    def __init__(self, num_classes: int, embed_vecs: Tensor, **network_config: Value) -> None:
        settings, build_encoder = read_options(options.LAAT, network_config)
        backbone: Backbone
        if build_encoder is not None:
            backbone = build_encoder(embed_vecs)
        else:
            backbone = _recurrent("bilstm", embed_vecs, settings, settings.hidden_size, settings.num_layers)
        rows = settings.projection_size
        head = LabelwiseHead(backbone.hidden_size, num_classes, rows, settings.strength, INITIAL_SPREAD)
        super().__init__(backbone, head, settings)


class PlantedCAML(HeadNetwork):
    """CAML: a convolution and an attention vector of each label.

    Source: Mullenbach et al. 2018, Explainable Prediction of Medical Codes from Clinical Text; LibMultiLabel's CAML.
    """

    def __init__(self, num_classes: int, embed_vecs: Tensor, **network_config: Value) -> None:
        settings, build_encoder = read_options(options.PlantedCAML, network_config)
        backbone: Backbone
        if build_encoder is not None:
            backbone = build_encoder(embed_vecs)
        else:
            width = settings.num_filter_per_size
            encoder = TanhConvolution(embed_vecs.shape[1], width, settings.filter_sizes[0])
            backbone = EmbeddedWords(encoder, width, embed_vecs, settings.embed_dropout)
        super().__init__(backbone, convolution_head(backbone.hidden_size, num_classes, settings), settings)


def convolution_head(width: int, num_labels: int, settings: options.Prior) -> LabelwiseHead:
    """Return the head of CAML and MultiResCNN: queries and outputs start as Glorot and Bengio draw them."""
    head = LabelwiseHead(width, num_labels, prior_strength=settings.strength)
    nn.init.xavier_uniform_(head.query.weight)
    nn.init.xavier_uniform_(head.output.weight)
    return head


class RealBatchNorm(nn.Module):
    """Batch norm over real tokens only, so that padding changes neither the statistics nor the states."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(channels)

    def forward(self, states: Tensor, real: Tensor) -> Tensor:
        """Normalise states (B, C, T) where ``real`` (B, T) is true; the others become zero."""
        by_token = states.transpose(1, 2)  # (B, T, C)
        tokens, norm = by_token[real], self.norm
        if self.training and len(tokens) == 1:  # one token has no variance: the running mean and variance serve
            means = (norm.running_mean, norm.running_var)
            normalised = nn.functional.batch_norm(tokens, *means, norm.weight, norm.bias, eps=norm.eps)
        else:
            normalised = norm(tokens)
        return (
            torch.zeros_like(by_token, dtype=normalised.dtype)
            .masked_scatter(real.unsqueeze(2), normalised)
            .transpose(1, 2)
        )


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
        """Turn states (B, C, T) into (B, C', T); ``real`` (B, T) is true on tokens."""
        first, second, shortcut = self.norms
        inner = torch.tanh(first(self.first(states), real))
        left = second(self.second(inner), real)
        outputs: Tensor = self.dropout(torch.tanh(left + shortcut(self.shortcut(states), real)))
        return outputs


class ResidualFilters(nn.Module):
    """For each width a convolution with tanh and a residual block; the outputs of all widths are joined.

    ``inputs`` are the channels of an embedded token, which the convolution keeps, ``outputs`` those of each width.
    """

    def __init__(self, filter_sizes: Sequence[int], inputs: int, outputs: int, dropout: float) -> None:
        super().__init__()
        convolutions = [nn.Conv1d(inputs, inputs, width, padding="same") for width in filter_sizes]
        for convolution in convolutions:
            nn.init.xavier_uniform_(convolution.weight)
        self.convolutions = nn.ModuleList(convolutions)
        self.blocks = nn.ModuleList(ResidualBlock(inputs, outputs, width, dropout) for width in filter_sizes)

    def forward(self, embedded: Tensor, length: Tensor) -> Tensor:
        """Encode ``embedded`` (B, T, input_size), ``length`` (B,) positions of it real, to (B, T, H)."""
        real = real_positions(embedded, length)
        inside = real.unsqueeze(1)  # (B, 1, T)
        words = embedded.transpose(1, 2) * inside
        pairs = zip(self.convolutions, self.blocks, strict=True)
        states = [block(torch.tanh(convolution(words)) * inside, real) for convolution, block in pairs]
        return torch.cat(states, dim=1).transpose(1, 2)


class MultiResCNN(HeadNetwork):
    """Convolutions of several widths, each with a residual block, under an attention vector of each label.

    Convolutions, batch norms and attention do not read padding.

    Source: Li and Yu 2020, ICD Coding from Clinical Text Using Multi-Filter Residual Convolutional Neural Network.
    """

    def __init__(self, num_classes: int, embed_vecs: Tensor, **network_config: Value) -> None:
        settings, _ = read_options(options.MultiResCNN, network_config)
        sizes = embed_vecs.shape[1], settings.num_filter_per_size
        encoder = ResidualFilters(settings.filter_sizes, *sizes, RESIDUAL_DROPOUT)
        width = len(settings.filter_sizes) * settings.num_filter_per_size
        backbone = EmbeddedWords(encoder, width, embed_vecs, RESIDUAL_DROPOUT)
        super().__init__(backbone, convolution_head(width, num_classes, settings), settings)


class PlantedBiGRULWAN(HeadNetwork):
    """A bidirectional GRU under label-wise attention.

    Source: LibMultiLabel's BiGRULWAN.
    """

    def __init__(self, num_classes: int, embed_vecs: Tensor, **network_config: Value) -> None:
        settings, _ = read_options(options.PlantedBiGRULWAN, network_config)
        backbone = _recurrent("bigru", embed_vecs, settings, settings.rnn_dim)
        head = LabelwiseHead(settings.rnn_dim, num_classes, prior_strength=settings.strength)
        super().__init__(backbone, head, settings)


def _recurrent(
    kind: str, vectors: Tensor, settings: options.LAAT | options.PlantedBiGRULWAN, width: int, layers: int = 1
) -> WordBackbone:
    dropouts = {name: getattr(settings, name) for name in ("embed_dropout", "post_encoder_dropout")}
    return WordBackbone(kind, vectors, hidden_size=width, num_layers=layers, **dropouts)
