"""Whether the kernels take torch's operations or Triton on a GPU: one choice for the whole process.

``auto`` goes by what has been tested. Nobody has run the Triton kernels on a GPU yet, so label attention stays with
torch's blocks, and the ranking loss takes Triton only where torch would write out more pairs than fit. Once the tests
marked ``gpu`` have passed on a device, ``auto`` can take Triton for both.
"""

from __future__ import annotations

from importlib.util import find_spec

import torch

from plant_plugin.errors import ConfigError, MissingExtraError

CHOICES = ("auto", "torch", "triton")
_chosen = CHOICES[0]


def choose(way: str) -> None:
    """Let all later calls on GPUs go this way; the configuration key ``kernels``.

    Raises:
        ConfigError: It is none of :data:`CHOICES`.
        MissingExtraError: It is ``triton``, which is not installed.
    """
    global _chosen
    if way not in CHOICES:
        raise ConfigError(f"{way!r} is none of {', '.join(CHOICES)}", where="kernels", fix=f"use `{CHOICES[0]}`")
    if way == "triton" and not _is_installed():
        raise MissingExtraError("triton is not installed", where="kernels", fix="pip install 'plant-plugin[gpu]'")
    _chosen = way


def takes_triton(device: torch.device, *, where_auto: bool) -> bool:
    """Whether a call with tensors on a device takes Triton; ``where_auto``: whether it should where that is chosen."""
    if device.type != "cuda" or _chosen == "torch":
        return False
    return _chosen == "triton" or (where_auto and _is_installed())


def _is_installed() -> bool:
    return find_spec("triton") is not None
