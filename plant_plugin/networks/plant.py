"""The network ``PLANT``: any encoder, one label attention head (method §2 and §8)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor

from plant_plugin.errors import ConfigError
from plant_plugin.networks.attention_head import HeadNetwork
from plant_plugin.networks.backbone import HuggingFaceBackbone, StatefulWords, WordBackbone
from plant_plugin.networks.frozen_backbone import FrozenBackbone
from plant_plugin.networks.label_attention_head import LabelAttentionHead
from plant_plugin.networks.plantable import start_strength


class PLANT(HeadNetwork):
    """Label attention over the states of an encoder; its attention can be planted.

    Works inside LibMultiLabel's own trainer too: ``forward(batch)`` takes ``text`` (B, T), ``length`` (B,) and
    optionally ``mask`` (B, T) and returns ``{"logits": (B, L)}``. A prior needs :meth:`plant_relevance` first; where
    none was planted the attention works without it.

    Args:
        num_classes: L.
        embed_vecs: (V, dim) word vectors; needed by the word-level encoders.
        encoder: ``cnn``, ``bigru`` or ``bilstm``; or give ``lm_weight``. With ``freeze_encoder`` both: this is then the
            layer that is trained (``cnn`` where it is not given).
        hidden_size: H of a word-level encoder (both directions, or all filters, together).
        num_layers: Layers of a recurrent encoder.
        filter_sizes: Widths of the ``cnn``, in words.
        embed_dim: Width of word embeddings where no ``embed_file`` gives them; read when they are drawn.
        embed_dropout: Dropout of the embedded words, in [0, 1).
        encoder_dropout: Dropout between recurrent layers, in [0, 1).
        post_encoder_dropout: Dropout of the states, in [0, 1).
        lm_weight: A Hugging Face encoder or decoder: a preset (``plant list backbones``), a name or a folder.
        lm_window: Sub-words of a window over long documents; None: what the model can take.
        lm_overlap: Sub-words that neighbouring windows share; None: an eighth of a window.
        lm_from_scratch: Draw the weights of ``lm_weight``'s architecture instead of loading them.
        lm_frozen: Train the head alone.
        freeze_encoder: Leave ``lm_weight`` as it is and train a layer over its states, which are computed once and kept
            in ``cache_dir``; ``embed_dropout`` is then that of these states.
        lm_attention: ``sdpa``, ``flash_attention_2`` or ``eager``; None: what transformers picks.
        lm_dropout: Of a language model that trains, in [0, 1), in the place of all its own rates; None: its own. On a
            CPU half of a step goes into drawing random numbers: 0 trains twice as fast.
        quantization: Of the language model's weights: ``nf4``, ``int8`` or ``none``; quantised ones do not train.
        lora: ``{r: 16, alpha: 32, dropout: 0.05}`` or parts of it: train adapters in the place of the model.
        gradient_checkpointing: Compute each layer again in the backward pass: less memory, a third more time.
        trust_remote_code: Run Python code that comes with the model.
        gradient_tokens: Train the encoder through this many last tokens of each document (of a language model: through
            the windows that hold them); what stands before is encoded without a gradient, with the state carried on
            where the encoder is recurrent. The attention reads all states. None: train through all.
        num_heads: A, must divide H (the paper: 8).
        pool_size: P, at most H (the paper: 128).
        planted_prior: ``additive`` keeps the relevance in the scores (method §8); ``none`` is the paper.
        prior_strength: Start value of β, one per label and head.
        prior_sharing: What shares one β: ``none``, ``heads`` (one per label), ``labels`` (one per head) or ``both``.

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
        lm_overlap: int | None = None,
        lm_from_scratch: bool = False,
        lm_frozen: bool = False,
        freeze_encoder: bool = False,
        lm_attention: str | None = None,
        lm_dropout: float | None = None,
        quantization: str = "none",
        lora: Mapping[str, Any] | None = None,
        gradient_checkpointing: bool = False,
        trust_remote_code: bool = False,
        gradient_tokens: int | None = None,
        num_heads: int = 8,
        pool_size: int = 128,
        planted_prior: str = "none",
        prior_strength: float = 4.0,
        prior_sharing: str = "none",
    ) -> None:
        if freeze_encoder and (lm_weight is None or lora is not None):
            raise _unfit("give `lm_weight`, and no `lora`: the language model is not trained", "freeze_encoder")
        if lm_dropout is not None and (freeze_encoder or lm_weight is None):
            raise _unfit("is for a language model that trains", "lm_dropout")
        if (encoder is None) == (lm_weight is None) and not freeze_encoder:
            raise _unfit("give exactly one of `encoder` and `lm_weight`", "encoder")
        if gradient_tokens is not None and (freeze_encoder or encoder == "cnn" or gradient_tokens < 1):
            raise _unfit(
                "is a number from 1 on, for `bigru`, `bilstm` or a language model that trains", "gradient_tokens"
            )
        words: dict[str, Any] = {
            "hidden_size": hidden_size,
            "num_layers": num_layers,
            "filter_sizes": filter_sizes,
            "encoder_dropout": encoder_dropout,
            "post_encoder_dropout": post_encoder_dropout,
        }
        language_model: dict[str, Any] = {
            "from_scratch": lm_from_scratch,
            "quantization": quantization,
            "attention": lm_attention,
            "trust_remote_code": trust_remote_code,
        }
        backbone: WordBackbone | HuggingFaceBackbone
        if lm_weight is not None and freeze_encoder:
            layer = {"kind": encoder or "cnn", **words}
            backbone = FrozenBackbone(lm_weight, layer, lm_window, lm_overlap, dropout=embed_dropout, **language_model)
        elif lm_weight is not None:
            backbone = HuggingFaceBackbone(
                lm_weight,
                lm_window,
                lm_overlap,
                dropout=post_encoder_dropout,
                lora=lora,
                frozen=lm_frozen,
                gradient_checkpointing=gradient_checkpointing,
                gradient_tokens=gradient_tokens,
                own_dropout=lm_dropout,
                **language_model,
            )
        else:
            if embed_vecs is None:
                raise _unfit("a word-level encoder needs word vectors", "encoder")
            words["embed_dropout"] = embed_dropout
            if gradient_tokens is None:
                backbone = WordBackbone(str(encoder), embed_vecs, **words)
            else:
                backbone = StatefulWords(str(encoder), embed_vecs, gradient_tokens, **words)
        strength = start_strength(planted_prior, prior_strength, prior_sharing)
        try:
            head = LabelAttentionHead(backbone.hidden_size, num_classes, num_heads, pool_size, strength)
        except ValueError as error:
            raise _unfit(str(error), "num_heads, pool_size") from error
        super().__init__(backbone, head)


def _unfit(what: str, key: str) -> ConfigError:
    return ConfigError(what, where=f"network_config: {key}", fix="see the arguments of PLANT: `plant list networks`")
