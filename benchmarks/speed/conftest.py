"""What every measurement shares: a case with several ways of doing the same, medians of rounds, and peak memory.

    make speed     # measures, prints the table of ratios, writes speed/results.json and tables/speed.md

A test takes the fixture ``measure`` and calls it once. Ways of one case are timed one right after the other: read their
ratio, not their seconds.
"""

from __future__ import annotations

import ctypes
import gc
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
import torch


def pytest_benchmark_update_machine_info(config: Any, machine_info: dict[str, Any]) -> None:
    """What the record has to say besides the processor."""
    machine_info.update(
        threads=torch.get_num_threads(), load=round(os.getloadavg()[1], 1), torch=str(torch.__version__)
    )


def peak_memory_mb(step: Callable[[], Any]) -> float | None:
    """How far one call lifts the process's resident memory above where it stood, in MiB; None where not on Linux."""
    if not sys.platform.startswith("linux"):
        step()
        return None
    gc.collect()
    ctypes.CDLL("libc.so.6").malloc_trim(0)  # memory that was freed but kept would hide the next use of it
    Path("/proc/self/clear_refs").write_text("5")  # the kernel forgets the peak so far
    before = psutil.Process().memory_info().rss
    step()
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return max(0.0, int(line.split()[1]) / 1024 - before / 2**20)
    return None


def peak_gpu_memory_mb(step: Callable[[], Any]) -> float:
    """How far one call lifts the memory that tensors hold on the GPU, in MiB."""
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    step()
    return (torch.cuda.max_memory_allocated() - before) / 2**20


@pytest.fixture
def measure(benchmark: Any) -> Callable[..., Any]:
    """``measure(case, way, step)``: peak memory in a first call, then the timed rounds.

    Keyword arguments: ``rounds`` (3), ``on_gpu`` for the memory there and times up to where the GPU has ended, and for
    growth ``along`` (a letter of the shape key) with ``size``.
    """

    def run(
        case: str,
        way: str,
        step: Callable[[], Any],
        *,
        rounds: int = 3,
        on_gpu: bool = False,
        along: str = "",
        size: int | None = None,
    ) -> Any:
        def ended() -> None:
            step()
            torch.cuda.synchronize()

        measured, peak = (ended, peak_gpu_memory_mb) if on_gpu else (step, peak_memory_mb)
        benchmark.extra_info.update(case=case, way=way, along=along, size=size, peak_mb=peak(measured))
        return benchmark.pedantic(measured, rounds=rounds)

    return run
