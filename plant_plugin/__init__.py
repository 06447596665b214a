"""PLANT for LibMultiLabel: label attention that is trained to rank tokens before the classifier is trained.

Shape key, used in every comment and docstring of the package: B documents in a batch, T token positions, L labels,
V token types (vocabulary), H hidden size, A attention heads, K rank cut, N training documents.

Importing the package imports neither torch nor LibMultiLabel, so that the commands start at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from plant_plugin.classifier import PlantClassifier as PlantClassifier
    from plant_plugin.model.predictor import Predictor as Predictor

__version__ = "0.1.0"

__all__ = ["PlantClassifier", "Predictor", "__version__", "register"]

# fetched when asked for: they import torch and scikit-learn
_LATE = {
    "PlantClassifier": "plant_plugin.classifier",
    "Predictor": "plant_plugin.model.predictor",
}


def __getattr__(name: str) -> Any:
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_LATE[name]), name)


def register() -> tuple[str, ...]:
    """Make this package's networks known to LibMultiLabel, so that ``model_name: PLANT`` works in your own clone.

    Calling it again changes nothing.

    Returns:
        The names that ``libmultilabel.nn.networks`` now knows.

    Raises:
        PlantError: LibMultiLabel has something else under one of these names.
    """
    from plant_plugin.host.register import register_networks

    return register_networks()
