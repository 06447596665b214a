"""A trained model with its adapters merged into the language model: nothing quantised, nothing to look up."""

from __future__ import annotations

import shutil
from pathlib import Path

import torch
from safetensors.torch import load_file

from plant_plugin.errors import CheckpointError, PlantError
from plant_plugin.files import atomic_folder
from plant_plugin.model.folder import BACKBONE, CONFIG, MODEL, read_content, read_metadata, write_json, write_tensors
from plant_plugin.networks.backbone import HuggingFaceBackbone
from plant_plugin.networks.backbone.hugging_face import fingerprint
from plant_plugin.networks.backbone.loading import merge_adapters
from plant_plugin.report.record import FIRST_PASS

PART = "backbone."  # how the names of the language model's tensors start
ADAPTED = ("quantization", "lora", "gradient_checkpointing", "lm_from_scratch")
LEFT_BEHIND = (MODEL, CONFIG, BACKBONE, FIRST_PASS, "result.json", "logs.json", "run.json", "per_document.npz")


def export_model(folder: Path, out: Path, dtype: torch.dtype, lm_weight: str | None = None) -> None:
    """Write a model folder whose language model is whole: ``out/backbone`` loads with ``AutoModel`` alone, too.

    Adapters are added to the weights that they were trained over, the quantised ones spread out again, so that the
    logits stay those of training but for the rounding of ``dtype``. ``lm_weight`` is where the language model lies on
    this machine; None: where it lay in training.

    Raises:
        CheckpointError: ``folder`` holds no model over a language model that is not trained itself, or its language
            model has changed.
        PlantError: ``out`` is there already, or cannot be written.
    """
    content = read_content(folder)
    if content["base"] is None:
        what = "the checkpoint holds the whole network: there is nothing to merge"
        raise CheckpointError(what, where=str(folder), fix="use the folder as it is")
    identity, tensors = read_metadata(folder / MODEL), load_file(folder / MODEL)
    if out.exists():
        raise PlantError("it is there already", where=str(out), fix="name a new folder")
    config = content["network_config"]
    backbone = HuggingFaceBackbone(
        lm_weight or config["lm_weight"],
        quantization=config.get("quantization", "none"),
        lora=config.get("lora"),
        frozen=True,
        trust_remote_code=config.get("trust_remote_code", False),
        dequantize=True,
    )
    if backbone.fingerprint != content["base"]:
        what, where = "the language model is not the one that the adapters were trained over", folder / CONFIG
        raise CheckpointError(what, where=f"{where}: lm_weight", fix="name the same weights with --lm-weight FOLDER")
    frozen = config.get("freeze_encoder", False)  # then the trained part of the backbone is a layer over its states
    of_model = {} if frozen else {name: value for name, value in tensors.items() if name.startswith(PART)}
    adapters = {name.removeprefix(PART): value for name, value in of_model.items()}
    if backbone.load_state_dict(adapters, strict=False).unexpected_keys:
        raise CheckpointError("the adapters do not fit the language model", where=str(folder / MODEL), fix="train anew")
    merged = merge_adapters(backbone.model).to(dtype)
    kept = {key: value for key, value in config.items() if key not in ADAPTED}
    content["network_config"] = {**kept, "lm_weight": BACKBONE, **({} if frozen else {"lm_frozen": True})}
    content["base"] = fingerprint(merged)
    with atomic_folder(out) as partial:
        shutil.copytree(folder, partial, ignore=shutil.ignore_patterns(*LEFT_BEHIND, "*.ckpt"), dirs_exist_ok=True)
        merged.save_pretrained(partial / BACKBONE)  # type: ignore[operator]
        kept_tensors = {name: value for name, value in tensors.items() if name not in of_model}
        write_tensors(partial / MODEL, kept_tensors, identity)
        write_json(partial / CONFIG, content)
