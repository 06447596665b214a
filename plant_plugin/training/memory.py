"""Main memory that a run may take: no more than is free, so that a lack of it is an error and no kill.

Linux grants memory that it does not have, and ends a process without a word when pages run out. A limit of the process
makes the allocation itself fail: training then computes a step in parts, everything else says which key to lower.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path

from plant_plugin.errors import PlantError
from plant_plugin.report.machine import free_and_total_memory
from plant_plugin.report.run import Run
from plant_plugin.training.guards import out_of_memory

GIB = 1024**3
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
