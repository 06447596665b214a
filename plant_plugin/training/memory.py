"""What is done when memory runs out: smaller blocks of labels, then batches in pieces whose gradients add up."""

from __future__ import annotations

import gc
from collections.abc import Mapping
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from plant_plugin.networks.kernels.label_attention import halve_blocks

if TYPE_CHECKING:
    from plant_plugin.training.stage import StageModule

CPU_PHRASE = "can't allocate memory"  # torch raises a plain RuntimeError on a CPU


def out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory ran out."""
    return isinstance(error, torch.cuda.OutOfMemoryError | MemoryError) or CPU_PHRASE in str(error)


def lighten(module: StageModule) -> str | None:
    """Make a stage need less memory: first halve the blocks of labels (twice), then cut batches into more pieces.

    Returns:
        What was done; None where nothing is left to try.
    """
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    if halve_blocks():
        return "blocks of labels are halved"
    if module.pieces >= (module.options.batch_tokens or module.schedule.batch_size):  # a piece is one document
        return None
    module.pieces *= 2
    if module.val_batches is not None:
        module.val_batches.batch_size = max(1, module.val_batches.batch_size // 2)
    return f"each batch is computed in {module.pieces} pieces whose gradients add up"


def in_pieces(batch: Mapping[str, Tensor], pieces: int) -> list[dict[str, Tensor]]:
    """A batch of B documents as at most ``pieces`` batches of consecutive documents, nearly equal in size."""
    documents = len(batch["document"])
    size = -(-documents // pieces)
    found = []
    for start in range(0, documents, size):
        stop = min(start + size, documents)
        inside = (batch["label_row"] >= start) & (batch["label_row"] < stop)
        piece = {"label_row": batch["label_row"][inside] - start, "label_column": batch["label_column"][inside]}
        for marks in [name.removesuffix("_place") for name in batch if name.endswith("_place")]:
            places, width = batch[f"{marks}_place"], batch["text"].shape[1]
            marked = (places >= start * width) & (places < stop * width)
            piece |= {f"{marks}_{part}": batch[f"{marks}_{part}"][marked] for part in ("label", "value")}
            piece[f"{marks}_place"] = places[marked] - start * width
        found.append(piece | {name: value[start:stop] for name, value in batch.items() if name not in piece})
    return found
