"""Encoders of token ids to states (B, T, H): word-level encoders and Hugging Face models.

Shape key: **B** documents · **T** token positions · **H** hidden width.
"""

from __future__ import annotations

from plant_plugin.networks.backbone.awd_lstm import AwdLstmBackbone, awd_lstm_of
from plant_plugin.networks.backbone.hugging_face import FrozenBackbone, HuggingFaceBackbone, backbone_class
from plant_plugin.networks.backbone.words import EmbeddedWords, WordBackbone

__all__ = [
    "AwdLstmBackbone",
    "EmbeddedWords",
    "FrozenBackbone",
    "HuggingFaceBackbone",
    "WordBackbone",
    "awd_lstm_of",
    "backbone_class",
]
