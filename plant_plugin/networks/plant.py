"""The network ``PLANT``: any encoder, one label attention head (method §2 and §8)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from scipy import sparse
from torch import Tensor, nn

from plant_plugin.errors import ConfigError
from plant_plugin.networks.backbone import HuggingFaceBackbone, WordBackbone, default_mask
from plant_plugin.networks.label_attention_head import Hidden, LabelAttentionHead
from plant_plugin.networks.planted_relevance import PlantedRelevance


class PLANT(nn.Module):
    """Label attention over the states of an encoder; its attention can be planted.

    Works inside LibMultiLabel's own trainer too: ``forward(batch)`` takes ``text`` (B, T), ``length`` (B,) and
    optionally ``mask`` (B, T) and returns ``{"logits": (B, L)}``. A prior needs :meth:`plant_relevance` first; where
    none was planted the attention works without it.

    Args:
        num_classes: L.
        embed_vecs: (V, dim) word vectors; needed by the word-level encoders.
        encoder: ``cnn``, ``bigru`` or ``bilstm``; or give ``lm_weight``.
        hidden_size: H of a word-level encoder (both directions, or all filters, together).
        num_layers: Layers of a recurrent encoder.
        filter_sizes: Widths of the ``cnn``, in words.
        embed_dim: Width of word embeddings where no ``embed_file`` gives them; read when they are drawn.
        embed_dropout: Dropout of the embedded words, in [0, 1).
        encoder_dropout: Dropout between recurrent layers, in [0, 1).
        post_encoder_dropout: Dropout of the states, in [0, 1).
        lm_weight: A Hugging Face model, by name or folder.
        lm_window: Sub-words of a window over long documents; None: what the model can take.
        lm_from_scratch: Draw the weights of ``lm_weight``'s architecture instead of loading them.
        num_heads: A, must divide H (the paper: 8).
        pool_size: P, at most H (the paper: 128).
        planted_prior: ``additive`` keeps the relevance in the scores (method §8); ``none`` is the paper.
        prior_strength: Start value of β, one per label and head.

    Raises:
        ConfigError: Not exactly one of ``encoder`` and ``lm_weight``, or values that do not fit each other.

    Source: "Don't Pay Attention, PLANT It: Pretraining Attention via Learning-to-Rank", section 2.
    """

    def __init__(
        self,
        num_classes: int,
        embed_vecs: Tensor | None = None,
        encoder: str | None = None,
        hidden_size: int = 256,
        num_layers: int = 1,
        filter_sizes: Sequence[int] = (9,),
        embed_dim: int = 100,
        embed_dropout: float = 0.2,
        encoder_dropout: float = 0.0,
        post_encoder_dropout: float = 0.2,
        lm_weight: str | None = None,
        lm_window: int | None = None,
        lm_from_scratch: bool = False,
        num_heads: int = 8,
        pool_size: int = 128,
        planted_prior: str = "none",
        prior_strength: float = 4.0,
    ) -> None:
        super().__init__()
        if (encoder is None) == (lm_weight is None):
            raise _unfit("give exactly one of `encoder` and `lm_weight`", "encoder")
        if planted_prior not in ("none", "additive"):
            raise _unfit(f"{planted_prior!r} is neither `none` nor `additive`", "planted_prior")
        self.backbone: WordBackbone | HuggingFaceBackbone
        if lm_weight is not None:
            self.backbone = HuggingFaceBackbone(lm_weight, lm_window, from_scratch=lm_from_scratch)
            self.dropout: nn.Module = nn.Dropout(post_encoder_dropout)
        else:
            if embed_vecs is None:
                raise _unfit("a word-level encoder needs word vectors", "encoder")
            self.backbone = WordBackbone(
                str(encoder),
                embed_vecs,
                embed_dropout=embed_dropout,
                hidden_size=hidden_size,
                num_layers=num_layers,
                filter_sizes=filter_sizes,
                encoder_dropout=encoder_dropout,
                post_encoder_dropout=post_encoder_dropout,
            )
            self.dropout = nn.Identity()  # LibMultiLabel's encoders drop their output themselves
        try:
            self.head = LabelAttentionHead(
                self.backbone.hidden_size,
                num_classes,
                num_heads=num_heads,
                pool_size=pool_size,
                planted_prior=planted_prior == "additive",
                prior_strength=prior_strength,
            )
        except ValueError as error:
            raise _unfit(str(error), "num_heads, pool_size") from error
        self._relevance: PlantedRelevance | None = None

    @property
    def has_prior(self) -> bool:
        """Whether the scores hold a planted prior, so that a relevance is needed also for inference."""
        return self.head.prior_strength is not None

    def plant_relevance(self, matrix: sparse.csr_array) -> None:
        """Give the network the relevance (L, V) that its prior and stage 1 read.

        Raises:
            ValueError: The matrix is for another number of labels.
        """
        if matrix.shape[0] != self.head.num_labels:
            raise ValueError(f"relevance of {matrix.shape[0]} labels for a network of {self.head.num_labels}")
        self._relevance = PlantedRelevance(matrix)

    def relevance_of(self, text: Tensor) -> Any:
        """The planted relevance of the batch's tokens (:class:`PriorLookup`), or None where none was planted."""
        return None if self._relevance is None else self._relevance.lookup(text)

    def encode(self, batch: dict[str, Tensor]) -> Hidden:
        """States, mask and prior of a batch: what the head reads.

        Args:
            batch: ``text`` (B, T) and ``length`` (B,); ``mask`` (B, T) where there is one.
        """
        text, length = batch["text"], batch["length"]
        mask = batch["mask"] if "mask" in batch else default_mask(text, length)
        states = self.dropout(self.backbone(text, length, mask))
        return Hidden(states, mask, self.relevance_of(text) if self.has_prior else None)

    def forward(self, batch: dict[str, Tensor]) -> dict[str, Tensor]:
        """Logits (B, L) of a batch, under the key ``logits``."""
        return {"logits": self.logits(self.encode(batch))}

    def logits(self, hidden: Hidden) -> Tensor:
        """Logits (B, L) of all labels; under autocast the products are narrow in training, never in evaluation."""
        logits: Tensor = self.head(hidden, product_dtype=self._narrow(hidden))
        return logits

    def selected_logits(self, hidden: Hidden, labels: Tensor) -> Tensor:
        """Logits (B, M) of chosen labels (B, M): the same numbers as picking them from :meth:`logits`."""
        return self.head.selected_logits(hidden, labels, product_dtype=self._narrow(hidden))

    def _narrow(self, hidden: Hidden) -> torch.dtype | None:
        kind = hidden.states.device.type
        return torch.get_autocast_dtype(kind) if self.training and torch.is_autocast_enabled(kind) else None


def _unfit(what: str, key: str) -> ConfigError:
    return ConfigError(what, where=f"network_config: {key}", fix="see the arguments of PLANT: `plant list networks`")
