"""A model folder to give away: the model's own files with a card, adapters merged into the language model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from plant_plugin.errors import CheckpointError, PlantError
from plant_plugin.files import atomic_folder, write_json, write_text
from plant_plugin.model.adapters import base_with_adapters
from plant_plugin.model.archive import ARCHIVE, packed_folder
from plant_plugin.model.card import model_card
from plant_plugin.model.folder import (
    Content,
    read_content,
    read_labels,
    write_tensors,
)
from plant_plugin.model.manifest import BACKBONE, CARD, CONFIG, MODEL, copy_files, model_files, verify, write_manifest
from plant_plugin.model.trained import load_model
from plant_plugin.networks.backbone.hugging_face import fingerprint
from plant_plugin.networks.backbone.loading import merge_adapters

PART = "backbone."  # how the names of the language model's tensors start
ADAPTED = ("quantization", "lora", "gradient_checkpointing")


def export_model(
    folder: Path,
    out: Path,
    dtype: torch.dtype,
    lm_weight: str | None = None,
    *,
    languages: Sequence[str] = (),
    trust_code: bool = False,
    check: bool = True,
) -> None:
    """Write a model folder that needs nothing else, with a card, as a repository on Hugging Face's hub has it.

    A language model that was not trained itself becomes whole: ``out/backbone`` loads with ``AutoModel``, too.
    Adapters are added to the weights that they were trained over, the quantised ones spread out again, so that the
    logits stay those of training but for the rounding of ``dtype``. Where ``out`` ends in ``.zip`` it is one file
    (:mod:`plant_plugin.model.archive`). ``lm_weight`` is where the language model lies on this machine; None: where it
    lay in training. ``trust_code`` and ``check`` are as in :func:`.load_model`.

    Raises:
        CheckpointError: ``folder`` holds no model, or its language model has changed.
        PlantError: ``out`` is there already, or cannot be written.
    """
    if out.exists():
        raise PlantError("it is there already", where=str(out), fix="name a new one")
    content = read_content(folder, trust_code=trust_code)
    verify(folder, contents=check)
    card = model_card(folder, content, len(read_labels(folder)[0]), languages)
    files = list(model_files(folder))
    merged = None if content["base"] is None else _merged(folder, content, lm_weight, dtype)
    if merged is None:  # the checkpoint holds the whole network
        load_model(folder, trust_code=trust_code, check=False)  # nothing torn is handed on
    else:
        files = [name for name in files if name not in (MODEL, CONFIG) and not name.startswith(f"{BACKBONE}/")]
    with (packed_folder if out.suffix == ARCHIVE else atomic_folder)(out) as partial:
        copy_files(folder, partial, files)
        if merged is not None:
            language_model, tensors, changed = merged
            language_model.save_pretrained(partial / BACKBONE)  # type: ignore[operator]
            write_tensors(partial / MODEL, tensors)
            write_json(partial / CONFIG, changed)
        write_text(partial / CARD, card)
        write_manifest(partial)


def _merged(
    folder: Path, content: Content, lm_weight: str | None, dtype: torch.dtype
) -> tuple[nn.Module, dict[str, Tensor], Content]:
    """Return the language model with its adapters in its weights, the other weights, and their configuration."""
    if any(needed.startswith("backbones: ") for needed in content.get("added", {})):
        what = "its language model is of a registry's own class, which AutoModel does not know"
        raise CheckpointError(what, where=str(folder), fix="use the folder as it is, with --registry")
    config, backbone = content["network_config"], base_with_adapters(folder, content, lm_weight)
    tensors = load_file(folder / MODEL)
    frozen = config.get("freeze_encoder", False)  # then the trained part of the backbone is a layer over its states
    of_model = {} if frozen else {name: value for name, value in tensors.items() if name.startswith(PART)}
    adapters = {name.removeprefix(PART): value for name, value in of_model.items()}
    if backbone.load_state_dict(adapters, strict=False).unexpected_keys:
        raise CheckpointError("the adapters do not fit the language model", where=str(folder / MODEL), fix="train anew")
    merged = merge_adapters(backbone.model).to(dtype)
    remaining = {key: value for key, value in config.items() if key not in ADAPTED}
    options = {**remaining, "lm_weight": BACKBONE}
    changed: Content = {**content, "network_config": options, "base": fingerprint(merged)}
    return merged, {name: value for name, value in tensors.items() if name not in of_model}, changed
