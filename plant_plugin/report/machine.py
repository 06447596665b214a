"""The processor, and how much of it and of memory a program may use."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Iterator
from pathlib import Path

CGROUPS, OWN_CGROUPS = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
CGROUP_FILES = {  # of either version: limit, what is in use, and what of that the system can take back
    1: ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    2: ("memory.max", "memory.current", "inactive_file"),
}
CPUINFO = Path("/proc/cpuinfo")  # Linux's description of each core; elsewhere there is none
FLAGS = {"amx_tile": "AMX", "amx_bf16": "AMX bf16", "avx512f": "AVX-512", "avx512_bf16": "AVX-512 bf16"}


def usable_cores() -> int:
    """Count the cores that this process may run on: a scheduler or `taskset` may give it fewer than there are."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def processor_name() -> str:
    """Return the model as its maker calls it, or the kind of machine where nothing says more."""
    return _field("model name") or platform.processor() or platform.machine()


def processor_features() -> list[str]:
    """Return instruction sets that speed up training, by their usual names."""
    flags = set(_field("flags").split())
    return [name for flag, name in FLAGS.items() if flag in flags]


def free_and_total_memory() -> tuple[int, int]:
    """Return the bytes of main memory that a program can still have, and those of the machine.

    Where a control group is around it, they are the group's.

    A container or a scheduler's job may have less than its machine, and is killed where it takes more.
    """
    import psutil

    memory = psutil.virtual_memory()
    free, total = memory.available, memory.total
    for limit, used in _limits():
        free, total = min(free, max(0, limit - used)), min(total, limit)
    return free, total


def _limits() -> Iterator[tuple[int, int]]:
    """Yield limit and use of memory in bytes of each control group that this process is in, where there is a limit."""
    try:
        groups = OWN_CGROUPS.read_text(encoding="utf-8").splitlines()
    except OSError:  # not Linux
        return
    for line in groups:
        _, controllers, path = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        limit, used, reclaimable = CGROUP_FILES[1 if controllers else 2]
        base = CGROUPS / "memory" if controllers else CGROUPS
        inner = Path(path.lstrip("/"))
        for folder in dict.fromkeys([base / inner, *(base / outer for outer in inner.parents), base]):
            try:
                most, now = (int((folder / name).read_text(encoding="utf-8")) for name in (limit, used))
                stat = (folder / "memory.stat").read_text(encoding="utf-8")
            except (OSError, ValueError):  # not to be seen from here, or "max"
                continue
            cached = re.search(rf"^{reclaimable} (\d+)$", stat, flags=re.MULTILINE)
            yield most, now - int(cached[1] if cached else 0)


def _field(name: str) -> str:
    try:
        text = CPUINFO.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    match = re.search(rf"^{name}\s*:(.*)$", text, flags=re.MULTILINE)
    return match.group(1).strip() if match else ""
