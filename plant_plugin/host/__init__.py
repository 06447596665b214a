"""The seam with LibMultiLabel: this package is the only importer of ``libmultilabel``.

What it offers is loaded when it is first asked for, because importing LibMultiLabel takes seconds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from plant_plugin.host.baseline import run_baseline
    from plant_plugin.host.encoders import glove_vectors, word_encoder
    from plant_plugin.host.register import register_networks

__all__ = ["glove_vectors", "register_networks", "run_baseline", "word_encoder"]

_HOMES = {
    "glove_vectors": "encoders",
    "register_networks": "register",
    "run_baseline": "baseline",
    "word_encoder": "encoders",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
