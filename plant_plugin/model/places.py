"""Where a model lies: in its folder, in a ``model.zip``, or in the package plant-plugin-models, by its name."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from plant_plugin.model.archive import unpacked
from plant_plugin.model.manifest import MANIFEST

PACKAGE = "plant_plugin_models"


def named_models() -> dict[str, Path]:
    """Return the folders of the models that plant-plugin-models brings, by name; none where it is not installed."""
    spec = importlib.util.find_spec(PACKAGE)
    found = spec.submodule_search_locations if spec else None
    return {path.parent.name: path.parent for top in found or () for path in sorted(Path(top).glob(f"*/{MANIFEST}"))}


def model_folder(model: Path) -> Path:
    """Return the folder of a model; what is there under a path goes before a model of that name.

    Raises:
        CheckpointError: As of :func:`.unpacked`.
    """
    return unpacked(model) if model.exists() else named_models().get(str(model), model)
