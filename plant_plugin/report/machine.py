"""What the processor is and how much of it a program may use."""

from __future__ import annotations

import os
import platform
import re
from pathlib import Path

CPUINFO = Path("/proc/cpuinfo")  # Linux's description of each core; elsewhere there is none
FLAGS = {"amx_tile": "AMX", "amx_bf16": "AMX bf16", "avx512f": "AVX-512", "avx512_bf16": "AVX-512 bf16"}


def usable_cores() -> int:
    """Cores that this process may run on: a scheduler or `taskset` may give it fewer than there are."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def processor_name(description: Path = CPUINFO) -> str:
    """The model as its maker calls it, or the kind of machine where nothing says more."""
    return _field("model name", description) or platform.processor() or platform.machine()


def processor_features(description: Path = CPUINFO) -> list[str]:
    """Instruction sets that speed up training, by their usual names."""
    flags = set(_field("flags", description).split())
    return [name for flag, name in FLAGS.items() if flag in flags]


def bf16_is_slow(description: Path = CPUINFO) -> bool:
    """Whether this is an x86 processor that has no instructions for bf16 products; False where nothing is known."""
    flags = _field("flags", description).split()
    return bool(flags) and not any("bf16" in flag for flag in flags)


def _field(name: str, description: Path) -> str:
    try:
        text = description.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    found = re.search(rf"^{name}\s*:(.*)$", text, flags=re.MULTILINE)
    return found.group(1).strip() if found else ""
