"""What tells that memory ran out, and a batch in pieces whose gradients add up."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

CPU_PHRASE = "can't allocate memory"  # torch raises a plain RuntimeError on a CPU


def out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory ran out."""
    return isinstance(error, torch.cuda.OutOfMemoryError | MemoryError) or CPU_PHRASE in str(error)


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
