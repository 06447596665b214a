"""Guard a stage against numbers that are not finite, and divide batches where memory does not suffice.

Steps whose loss or gradient is not finite are left out, counted, and end the stage when they are too many.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor

from plant_plugin.errors import PlantError

logger = logging.getLogger(__name__)

# Of a plain RuntimeError on a CPU: of torch's allocator, C++, oneDNN and Python's threads, which want a stack.
MOST_SKIPPED = 20  # steps of a stage whose loss or gradient may be infinite until training ends
CPU_PHRASES = "can't allocate memory", "bad_alloc", "could not create a primitive", "can't start new thread"


class StepGuard:
    """Look at every optimiser step of a stage, of which ``MOST_SKIPPED`` may be left out.

    ``hashes`` names documents by the hash of their text, so that a message holds neither text nor id.
    """

    def __init__(self, stage: str, hashes: Callable[[Sequence[int]], list[str]]) -> None:
        self.stage, self.hashes = stage, hashes
        self.skipped = 0
        self._seen: list[tuple[Tensor, Tensor]] = []

    def saw(self, documents: Tensor, loss: Tensor) -> None:
        """Remember a batch until its optimiser step: documents (B,) and loss (), without gradient."""
        self._seen.append((documents, loss))

    def forget(self) -> None:
        """Forget the batches of a step that never came."""
        self._seen = []

    def finite(self, norm: Tensor, *, scaled: bool = False) -> bool:
        """Tell whether gradient norm () and all losses of the step are finite; forgets its batches if so.

        Where losses are scaled (fp16), infinite gradients of finite losses are daily work and no fault.
        """
        total = sum((loss for _, loss in self._seen), start=torch.zeros((), device=norm.device))
        good = bool(torch.isfinite(total if scaled else total + norm))
        if good:
            self.forget()
        return good

    def skip(self, epoch: int, batch: int) -> None:
        """Count a step that was left out, and say so.

        Raises:
            PlantError: Too many of them.
        """
        self.skipped += 1
        seen = self._seen
        self.forget()
        guilty = [documents for documents, loss in seen if not torch.isfinite(loss)] or [pair[0] for pair in seen]
        named = ", ".join(self.hashes(torch.cat(guilty).tolist())) if guilty else "of another process"
        where = f"{self.stage}, epoch {epoch + 1}, batch {batch + 1}"
        logger.warning(
            "%s: loss or gradient is not finite, the step is left out (%d, at most %d). First digits of the SHA-256 of "
            "the documents' texts: %s", where, self.skipped, MOST_SKIPPED, named,
        )  # fmt: skip
        if self.skipped > MOST_SKIPPED:
            what = f"loss or gradient was not finite in {self.skipped} steps"
            fix = "a smaller learning_rate, precision: 32, or a look at the documents named above"
            raise PlantError(what, where=where, fix=fix)


def out_of_memory(error: BaseException) -> bool:
    """Tell whether an error says that memory ran out."""
    if isinstance(error, torch.cuda.OutOfMemoryError | MemoryError):
        return True
    return isinstance(error, RuntimeError) and any(phrase in str(error) for phrase in CPU_PHRASES)


def in_pieces(batch: Mapping[str, Tensor], pieces: int) -> list[dict[str, Tensor]]:
    """Split a batch of B documents into at most ``pieces`` batches of consecutive documents, nearly equal in size."""
    documents = len(batch["document"])
    size = -(-documents // pieces)
    parts = []
    for start in range(0, documents, size):
        stop = min(start + size, documents)
        inside = (batch["label_row"] >= start) & (batch["label_row"] < stop)
        piece = {"label_row": batch["label_row"][inside] - start, "label_column": batch["label_column"][inside]}
        if "mark_place" in batch:
            places, width = batch["mark_place"], batch["text"].shape[1]
            marked = (places >= start * width) & (places < stop * width)
            piece |= {name: batch[name][marked] for name in ("mark_label", "mark_value")}
            piece["mark_place"] = places[marked] - start * width
        parts.append(piece | {name: value[start:stop] for name, value in batch.items() if name not in piece})
    return parts
