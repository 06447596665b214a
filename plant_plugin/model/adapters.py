"""The language model that adapters of a model folder were trained over, for export."""

from __future__ import annotations

from pathlib import Path

from plant_plugin.errors import CheckpointError
from plant_plugin.model.folder import Content, language_model_of
from plant_plugin.model.manifest import CONFIG
from plant_plugin.networks.backbone import HuggingFaceBackbone
from plant_plugin.networks.fetching import nothing_fetched
from plant_plugin.networks.options import LoraOptions


def base_with_adapters(folder: Path, content: Content, lm_weight: str | None) -> HuggingFaceBackbone:
    """Return it with new adapters, its quantised weights spread out; from a hub only where a user names it.

    Raises:
        CheckpointError: It has changed since the training.
        PlantError: It is not on this machine.
    """
    config = content["network_config"]
    with nothing_fetched(lm_weight is None):
        backbone = HuggingFaceBackbone(
            language_model_of(folder, content, lm_weight)["lm_weight"],
            quantization=config.get("quantization", "none"),
            lora=None if config.get("lora") is None else LoraOptions(**config["lora"]),
            frozen=True,
            dequantize=True,
        )
    if backbone.fingerprint != content["base"]:
        what, where = "the language model is not the one that the adapters were trained over", folder / CONFIG
        raise CheckpointError(what, where=f"{where}: lm_weight", fix="name the same weights with --lm-weight FOLDER")
    return backbone
