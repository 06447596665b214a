"""Encoders of token ids to states (B, T, H): word-level encoders and Hugging Face models.

Shape key: **B** documents · **T** token positions · **H** hidden width.
"""

from __future__ import annotations

from plant_plugin.networks.backbone.hugging_face import FrozenBackbone, HuggingFaceBackbone, backbone_class
from plant_plugin.networks.backbone.words import EmbeddedWords, StatefulWords, WordBackbone

__all__ = ["EmbeddedWords", "FrozenBackbone", "HuggingFaceBackbone", "StatefulWords", "WordBackbone", "backbone_class"]
