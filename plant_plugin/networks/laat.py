"""The network ``LAAT``: a bidirectional LSTM under label attention over tanh-projected states."""

from __future__ import annotations

from torch import Tensor

from plant_plugin.networks.attention_head import HeadNetwork, LabelwiseHead
from plant_plugin.networks.backbone import WordBackbone
from plant_plugin.networks.plantable import start_strength

INITIAL_SPREAD = 0.03  # standard deviation of the head's first weights in the authors' program; PLM-ICD's heads too


class LAAT(HeadNetwork):
    """Z = tanh(W H), A = softmax(U Z), logit_l = w_l · (A H)_l + b_l, over a bidirectional LSTM's states H.

    Two deviations from the authors' program, the same for every network here: padding gets no attention, and the word
    vectors train too (theirs stay as word2vec left them). Its hierarchical variant, JointLAAT, is not here.

    Args:
        num_classes: L.
        embed_vecs: (V, dim) word vectors.
        hidden_size: H of both directions together (the paper: 2 × 512 on MIMIC-III full, 2 × 256 on its top 50).
        num_layers: LSTM layers.
        projection_size: Rows of W, the paper's d_a (512 on MIMIC-III full, 256 on its top 50).
        embed_dim: Width of word embeddings where no ``embed_file`` gives them; read when they are drawn.
        embed_dropout: Dropout of the embedded words, in [0, 1).
        encoder_dropout: Dropout between LSTM layers, in [0, 1).
        post_encoder_dropout: Dropout of the states, in [0, 1); the authors have none.
        planted_prior: ``additive`` keeps the relevance in the scores (method §8); ``none`` is the paper.
        prior_strength: Start value of β, one per label.
        prior_sharing: ``labels`` share one β; ``none``: each has its own (one head: ``both`` is ``labels``).

    Raises:
        ConfigError: An odd ``hidden_size``, or an unknown ``planted_prior``.

    Source: Vu, Nguyen and Nguyen 2020, A Label Attention Model for ICD Coding from Clinical Text, section 3; start
    values of weights and dropout from the authors' program.
    """

    def __init__(
        self,
        num_classes: int,
        embed_vecs: Tensor,
        hidden_size: int = 1024,
        num_layers: int = 1,
        projection_size: int = 512,
        embed_dim: int = 100,
        embed_dropout: float = 0.3,
        encoder_dropout: float = 0.0,
        post_encoder_dropout: float = 0.0,
        planted_prior: str = "none",
        prior_strength: float = 4.0,
        prior_sharing: str = "none",
    ) -> None:
        backbone = WordBackbone(
            "bilstm",
            embed_vecs,
            embed_dropout=embed_dropout,
            hidden_size=hidden_size,
            num_layers=num_layers,
            encoder_dropout=encoder_dropout,
            post_encoder_dropout=post_encoder_dropout,
        )
        strength = start_strength(planted_prior, prior_strength, prior_sharing)
        super().__init__(
            backbone, LabelwiseHead(backbone.hidden_size, num_classes, projection_size, strength, INITIAL_SPREAD)
        )
