"""Hubs of models: nothing comes from one that nobody has named, and libraries that use them can be silent.

Some libraries look for compiled code there, which would run, or have weights converted there, when they are imported.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import warnings
from collections.abc import Iterator

KERNELS = "kernels"  # the package by which transformers and bitsandbytes fetch compiled code
OFF = {
    "USE_HUB_KERNELS": "0",
    "DISABLE_SAFETENSORS_CONVERSION": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_DISABLE_UPDATE_CHECK": "1",
}
# The last of them torch reads when it is imported.
SILENT = {"TRANSFORMERS_VERBOSITY": "error", "HF_HUB_DISABLE_PROGRESS_BARS": "1", "TORCH_CPP_LOG_LEVEL": "ERROR"}
LOUD = (
    "transformers",
    "huggingface_hub",
    "bitsandbytes",
    "peft",
    "accelerate",
    "lightning",
    "lightning.pytorch",
    "lightning.fabric",
)


def stay_off() -> None:
    """Let nothing be fetched that nobody has named, for as long as this process runs; before these are imported."""
    os.environ.update(OFF)
    sys.modules.setdefault(KERNELS, None)  # type: ignore[arg-type]
    advice = logging.getLogger("bitsandbytes.backends")  # to install it
    advice.setLevel(logging.ERROR)


@contextlib.contextmanager
def quiet(silent: bool) -> Iterator[None]:
    """Let libraries print nothing but errors inside the block, where ``silent``; handlers of others hear them still."""
    if not silent:
        yield
        return
    levels = [(each, each.level) for each in (*map(logging.getLogger, LOUD), logging.lastResort) if each]
    before = {name: os.environ.get(name) for name in SILENT}
    os.environ.update(SILENT)
    for each, _ in levels:
        each.setLevel(logging.ERROR)
    _show_bars(False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            yield
        finally:
            for each, level in levels:
                each.setLevel(level)
            for name, value in before.items():
                os.environ.pop(name)
                if value is not None:
                    os.environ[name] = value
            _show_bars(before["HF_HUB_DISABLE_PROGRESS_BARS"] is None)


def _show_bars(show: bool) -> None:
    library = sys.modules.get("transformers.utils.logging")
    if library is not None:  # else it reads the environment when it is imported
        getattr(library, "enable_progress_bar" if show else "disable_progress_bar")()
