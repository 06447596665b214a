"""The network ``PLMICD``: a pretrained encoder over windows of a long document, under LAAT's label attention."""

from __future__ import annotations

from torch import Tensor

from plant_plugin.networks.attention_head import HeadNetwork, LabelwiseHead
from plant_plugin.networks.backbone import HuggingFaceBackbone
from plant_plugin.networks.laat import INITIAL_SPREAD
from plant_plugin.networks.plantable import start_strength


class PLMICD(HeadNetwork):
    """Windows of a document through a pretrained encoder, their states joined, then LAAT's attention over all of them.

    Padding gets no attention here; in the authors' program it gets some.

    Args:
        num_classes: L.
        lm_weight: A Hugging Face encoder, by name or folder (the paper: RoBERTa-PM, trained on PubMed and MIMIC).
        embed_vecs: Not read; LibMultiLabel's trainer passes it to every network.
        lm_window: Sub-words of a window (the paper: 128, of at most 3072 a document).
        lm_from_scratch: Draw the weights of ``lm_weight``'s architecture instead of loading them.
        projection_size: Rows of W; None: as many as the encoder's states are wide, as in the paper.
        post_encoder_dropout: Dropout of the joined states, in [0, 1); the authors have none.
        planted_prior: ``additive`` keeps the relevance in the scores (method §8); ``none`` is the paper.
        prior_strength: Start value of β, one per label.
        prior_sharing: ``labels`` share one β; ``none``: each has its own (one head: ``both`` is ``labels``).

    Raises:
        ConfigError: ``lm_weight`` is no model, a window longer than it can take, or an unknown ``planted_prior``.

    Source: Huang, Tsai and Chen 2022, PLM-ICD: Automatic ICD Coding with Pretrained Language Models, section 3; start
    values of the head's weights as in Edin et al. 2023.
    """

    def __init__(
        self,
        num_classes: int,
        lm_weight: str,
        embed_vecs: Tensor | None = None,
        lm_window: int = 128,
        lm_from_scratch: bool = False,
        projection_size: int | None = None,
        post_encoder_dropout: float = 0.0,
        planted_prior: str = "none",
        prior_strength: float = 4.0,
        prior_sharing: str = "none",
    ) -> None:
        backbone = HuggingFaceBackbone(lm_weight, lm_window, from_scratch=lm_from_scratch, dropout=post_encoder_dropout)
        width, strength = backbone.hidden_size, start_strength(planted_prior, prior_strength, prior_sharing)
        super().__init__(
            backbone, LabelwiseHead(width, num_classes, projection_size or width, strength, INITIAL_SPREAD)
        )
