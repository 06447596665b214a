"""The network ``PLANT``: any encoder, one label attention head (method §2 and §8)."""

from __future__ import annotations

from torch import Tensor

from plant_plugin.config.values import Keys, Value
from plant_plugin.errors import ConfigError
from plant_plugin.networks import options
from plant_plugin.networks.attention_head import HeadNetwork
from plant_plugin.networks.backbone import (
    FrozenBackbone,
    HuggingFaceBackbone,
    WordBackbone,
    backbone_class,
    read_options,
)
from plant_plugin.networks.backbone.registered import BuildEncoder
from plant_plugin.networks.backbone.words import Backbone
from plant_plugin.networks.label_attention_head import LabelAttentionHead


class PLANT(HeadNetwork):
    """Label attention over the states of an encoder; its attention can be planted.

    Works inside LibMultiLabel's own trainer too. A prior needs :meth:`plant_relevance` first; where none was planted
    the attention works without it.

    Source: "Don't Pay Attention, PLANT It: Pretraining Attention via Learning-to-Rank", section 2.
    """

    def __init__(self, num_classes: int, embed_vecs: Tensor | None = None, **network_config: Value) -> None:
        settings, build_encoder = read_options(options.PLANT, network_config)
        backbone = _backbone(settings, embed_vecs, build_encoder)
        sizes = backbone.hidden_size, num_classes, settings.num_heads, settings.pool_size
        head = LabelAttentionHead(*sizes, settings.strength, matched_rates=settings.matched_rates)
        super().__init__(backbone, head, settings)


def _backbone(
    settings: options.PLANT, vectors: Tensor | None, build_encoder: BuildEncoder | None
) -> Backbone | HuggingFaceBackbone:
    names = "hidden_size", "num_layers", "filter_sizes", "post_encoder_dropout"
    words: Keys = {name: getattr(settings, name) for name in names}
    if settings.lm_weight is None:
        if vectors is None:
            raise _unfit("a word-level encoder needs word vectors", "encoder")
        if build_encoder is not None:
            return build_encoder(vectors)
        return WordBackbone(str(settings.encoder), vectors, embed_dropout=settings.embed_dropout, **words)
    common: Keys = {
        "window": settings.lm_window,
        "overlap": None,
        "quantization": settings.quantization,
    }
    if settings.freeze_encoder:
        if backbone_class(settings.lm_weight) is not HuggingFaceBackbone:
            raise _unfit("is for the plain class of backbones", "freeze_encoder")
        layer = {"kind": settings.encoder or "cnn", **words}
        return FrozenBackbone(settings.lm_weight, layer, dropout=settings.embed_dropout, **common)
    return backbone_class(settings.lm_weight)(
        settings.lm_weight,
        dropout=settings.post_encoder_dropout,
        lora=settings.lora,
        gradient_checkpointing=settings.gradient_checkpointing,
        own_dropout=settings.lm_dropout,
        **common,
    )


def _unfit(what: str, key: str) -> ConfigError:
    return ConfigError(what, where=f"network_config: {key}", fix="see the arguments of PLANT: `plant list networks`")
