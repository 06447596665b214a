"""Guard a stage against numbers that are not finite, and a run against memory that does not suffice.

Steps whose loss or gradient is not finite are left out, counted, and end the stage when they are too many.

Linux grants memory that it does not have, and ends a process without a word when pages run out. A limit of the process,
no more than is free, makes the allocation itself fail: training then computes a step in parts, everything else says
which key to lower.
"""

from __future__ import annotations

import contextlib
import logging
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import torch
from torch import Tensor

from plant_plugin.errors import PlantError
from plant_plugin.report.machine import free_and_total_memory
from plant_plugin.report.run import Run

logger = logging.getLogger(__name__)

MOST_SKIPPED = 20  # steps of a stage whose loss or gradient may be infinite until training ends
# Of a plain RuntimeError on a CPU: of torch's allocator, C++, oneDNN and Python's threads, which want a stack.
CPU_PHRASES = "can't allocate memory", "bad_alloc", "could not create a primitive", "can't start new thread"

STATUS = Path("/proc/self/status")  # Linux only; `VmData` is what the limit is compared with
STAGE_FIX = "a smaller batch_size with more accumulate, fewer stage1.labels, a smaller max_seq_length"
FIXES = {
    "relevance": "a smaller relevance.top",
    "planted_scores": "planted_scores.model label_ridge or a smaller planted_scores.top",
    "shortlist": "a smaller shortlist.size or planted_scores.top",
    "stage1": STAGE_FIX,
    "stage2": STAGE_FIX,
    "thresholds": "a smaller eval_batch_size",
    "test": "a smaller eval_batch_size",
}


class StepGuard:
    """Look at every optimiser step of a stage, of which ``MOST_SKIPPED`` may be left out."""

    def __init__(self, stage: str) -> None:
        self.stage = stage
        self.skipped = 0
        self._losses: list[Tensor] = []

    def saw(self, loss: Tensor) -> None:
        """Remember the loss () of a batch, without gradient, until its optimiser step."""
        self._losses.append(loss)

    def forget(self) -> None:
        """Forget the batches of a step that never came."""
        self._losses = []

    def finite(self, norm: Tensor, *, scaled: bool = False) -> bool:
        """Tell whether gradient norm () and all losses of the step are finite, and forget its batches.

        Where losses are scaled (fp16), infinite gradients of finite losses are daily work and no fault.
        """
        total = sum(self._losses, start=torch.zeros((), device=norm.device))
        self.forget()
        return bool(torch.isfinite(total if scaled else total + norm))

    def skip(self, epoch: int, batch: int) -> None:
        """Count a step that was left out, and say so.

        Raises:
            PlantError: Too many of them.
        """
        self.skipped += 1
        where = f"{self.stage}, epoch {epoch + 1}, batch {batch + 1}"
        what = "%s: loss or gradient is not finite, the step is left out (%d, at most %d)"
        logger.warning(what, where, self.skipped, MOST_SKIPPED)
        if self.skipped > MOST_SKIPPED:
            what = f"loss or gradient was not finite in {self.skipped} steps"
            fix = "a smaller learning_rate, precision: 32, or a look at the documents of these batches"
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


@contextlib.contextmanager
def limited_memory(run: Run, *, limited: bool = True) -> Iterator[None]:
    """Refuse the block, where ``limited``, main memory beyond what is free now; name what lowers its need.

    Only on Linux, and only this process's own data: files that are mapped to be read do not count. A GPU's memory has
    limits of its own, and its driver reserves addresses that it never fills: leave ``limited`` false there.

    Raises:
        PlantError: Memory does not suffice, here or on a GPU.
    """
    try:
        with _limit() if limited else contextlib.nullcontext():
            yield
    except (MemoryError, RuntimeError) as error:
        if not out_of_memory(error):
            raise
        phase = run.last_phase.removeprefix("refit_")
        fix = FIXES.get(phase, "fewer or shorter documents, or a larger machine")
        raise PlantError("memory does not suffice", where=phase, fix=fix) from error


@contextlib.contextmanager
def _limit() -> Iterator[None]:
    """Set the soft limit of the data segment, and take it back."""
    try:
        import resource

        taken = re.search(r"^VmData:\s+(\d+) kB$", STATUS.read_text(encoding="ascii"), flags=re.MULTILINE)
    except (ImportError, OSError):  # Windows, macOS
        taken = None
    if taken is None:
        yield
        return
    before, most = resource.getrlimit(resource.RLIMIT_DATA)
    limits = {int(taken[1]) * 1024 + free_and_total_memory()[0], before, most} - {resource.RLIM_INFINITY}
    resource.setrlimit(resource.RLIMIT_DATA, (min(limits), most))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (before, most))
