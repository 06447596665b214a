"""The choice between torch's operations and Triton on a GPU, one for the whole process.

``auto`` takes Triton where it works, the GPU is of a kind that tests compile the kernels for, and it is quicker: for
the ranking loss, and for label attention in bf16 and fp16 (`benchmarks/tables/speed.md` has an H100's times).
"""

from __future__ import annotations

import logging
from functools import cache
from importlib.util import find_spec

import torch

logger = logging.getLogger(__name__)

OLDEST = (8, 0)  # least compute capability at which `auto` takes Triton
_chosen = "auto"


def choose(way: str) -> None:
    """Let all later calls on GPUs go this way, ``auto``, ``torch`` or ``triton``, to compare the ways."""
    global _chosen
    _chosen = way


def takes_triton(device: torch.device, *, where_auto: bool) -> bool:
    """Tell whether a call with tensors on a device takes Triton; ``where_auto`` answers for the choice `auto`."""
    if device.type != "cuda" or _chosen == "torch":
        return False
    return _chosen == "triton" or (where_auto and _works(device))


def _is_installed() -> bool:
    return find_spec("triton") is not None


@cache
def _works(device: torch.device) -> bool:
    """Tell whether a kernel runs there: Triton needs a C compiler and Python's headers too."""
    if not _is_installed() or torch.cuda.get_device_capability(device) < OLDEST:
        return False
    from plant_plugin.networks.kernels.ranking_loss_triton import ranking_rows

    ones = torch.ones(1, 2, device=device)
    try:
        ranking_rows(ones, ones, ones.bool(), 1, False)
    except Exception as error:  # of a compiler, of Triton, of a driver
        logger.warning("Triton does not run on this machine, so torch computes instead: %s", error)
        return False
    return True
