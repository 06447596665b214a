"""A model folder to give away: the model's own files with a card, adapters merged into the language model.

The card is as Hugging Face's hub shows it: what a model is for, what it reached and what it cannot do.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
import yaml
from safetensors.torch import load_file
from torch import Tensor, nn

from plant_plugin.errors import CheckpointError, PlantError
from plant_plugin.files import atomic_folder, write_json, write_text
from plant_plugin.model.adapters import base_with_adapters
from plant_plugin.model.archive import ARCHIVE, packed_folder
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
from plant_plugin.report.result import Result, read_result
from plant_plugin.report.tables import percent

PART = "backbone."  # how the names of the language model's tensors start
ADAPTED = ("quantization", "lora", "gradient_checkpointing")

SHOWN = ("MAP", "nDCG@5", "P@1", "P@5", "Micro-F1@micro", "Macro-F1@macro")
USE = """\
It suggests labels for texts like those that it was trained on, for people who check each one. It decides nothing by
itself: of health data a coder confirms or rejects every code."""
LIMITS = """\
- It knows the labels of `labels.txt` and no others; of labels that few training documents have it knows little.
- On texts of another kind, language, house or time than its training texts it is worse, and does not say so.
- Probabilities are not calibrated beyond the thresholds that validation documents chose (`thresholds.json`).
- No document is in it. Words of training documents are: in the vocabulary, in the terms of its linear part, in phrases
  that coders marked. Rare ones may name a person: `plant strip` removes them, before a model is handed on."""


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


def model_card(folder: Path, content: Content, labels: int, languages: Sequence[str] = ()) -> str:
    """Write the card of a run's model, with the numbers of ``result.json`` where there is one; no text, path or id.

    ``languages`` are those of the texts, as codes of two letters; no model folder knows them.

    Raises:
        DataError: ``result.json`` is torn.
    """
    head = {"library_name": "plant-plugin", "pipeline_tag": "text-classification",
            "tags": ["multi-label-classification", "plant"]}  # fmt: skip
    if languages:
        head["language"] = list(languages)
    result = read_result(folder / "result.json") if (folder / "result.json").is_file() else None
    name = "model" if result is None else str(result.get("dataset", "model"))
    length = content["max_seq_length"]
    read = "whole documents" if length is None else f"the first {length:,} tokens of a document"
    said = ", ".join(languages) or "not stated"
    return f"""---
{yaml.safe_dump(head, sort_keys=False)}---
# {content["model_name"]} on {name}

A classifier of texts into {labels:,} labels, several a text, trained by plant_plugin. Its network reads {read}.
Languages of the texts: {said}.

```python
from plant_plugin import Predictor

predictor = Predictor.from_pretrained("THIS_FOLDER")
```

## Intended use

{USE}

## Data and metrics

{_numbers(result)}

## Limits

{LIMITS}
"""


def _numbers(result: Result | None) -> str:
    if result is None:
        return "Nothing is known of how well it does: the run has not been tested."
    counts, metrics = result.get("counts", {}), result["metrics"]
    documents_line = [f"{counts['documents']:,} documents" if "documents" in counts else "documents"]
    if "labels_unseen_in_training" in counts:
        documents_line.append(f"with {counts['labels_unseen_in_training']:,} labels that training never showed")
    rows = [f"| {name} | {percent(metrics[name])} |" for name in SHOWN if metrics.get(name) is not None]
    how = f"Data set {result.get('dataset')}, configuration {result.get('config')}, seed {result.get('seed')}."
    where = f"On its {result.get('split', 'test')} split, {' '.join(documents_line)}, percent, one run:"
    return "\n".join((f"{how} {where}", "", "| metric | value |", "|---|---:|", *rows))
