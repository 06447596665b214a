"""Encoders of token ids to states (B, T, H): word-level encoders and Hugging Face models.

Shape key: **B** documents · **T** token positions · **H** hidden width.
"""

from __future__ import annotations

from plant_plugin.networks.backbone.hugging_face import FrozenBackbone, HuggingFaceBackbone, backbone_class
from plant_plugin.networks.backbone.registered import read_options
from plant_plugin.networks.backbone.words import EmbeddedWords, WordBackbone

__all__ = [
    "EmbeddedWords",
    "FrozenBackbone",
    "HuggingFaceBackbone",
    "WordBackbone",
    "backbone_class",
    "read_options",
]
