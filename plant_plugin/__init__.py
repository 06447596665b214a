"""PLANT for LibMultiLabel: label attention that is trained to rank tokens before the classifier is trained.

Shape key, used in every comment and docstring of the package: B documents in a batch, T token positions, L labels,
V token types (vocabulary), H hidden size, A attention heads, K rank cut, N training documents.

Importing the package imports neither torch nor LibMultiLabel, so that the commands start at once.
"""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from plant_plugin.classifier import PlantClassifier as PlantClassifier
    from plant_plugin.config import Config
    from plant_plugin.model.predictor import Predictor as Predictor
    from plant_plugin.report.compare_runs import compare as compare
    from plant_plugin.report.result import Result
    from plant_plugin.training.in_memory import train as train

__version__ = "0.1.0"

__all__ = ["PlantClassifier", "Predictor", "__version__", "compare", "register", "train"]

# What other packages say of themselves, to nobody who uses this one: torchmetrics 0.10.3 imports pkg_resources
# (pyproject.toml keeps the setuptools that has it), Lightning compares tree specifications as torch once did, and
# tqdm misses its widgets in a notebook.
for _message in (
    "pkg_resources is deprecated",
    r"`isinstance\(treespec, LeafSpec\)` is deprecated",
    "IProgress not found",
):
    warnings.filterwarnings("ignore", message=_message)

# fetched when asked for: they import torch and scikit-learn
_LATE = {
    "PlantClassifier": "plant_plugin.classifier",
    "Predictor": "plant_plugin.model.predictor",
    "compare": "plant_plugin.report.compare_runs",
    "train": "plant_plugin.training.in_memory",
}


def __getattr__(name: str) -> object:
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LATE[name]), name)


def register() -> tuple[str, ...]:
    """Make this package's networks and strategies known to LibMultiLabel, for ``model_name: PLANT`` in your own clone.

    ``libmultilabel.nn.networks`` gets the networks. ``TorchTrainer`` of the clone's ``torch_trainer.py``, which its
    ``main.py`` trains with, hands configurations that name one of them to our strategies: both stages, prior, readers
    and results are those of the command ``libmultilabel``. LibMultiLabel's own networks train as they did. Calling it
    again changes nothing, and no trainer is loaded before there is a run.

    Returns:
        The names that ``libmultilabel.nn.networks`` now knows.

    Raises:
        PlantError: LibMultiLabel has something else under one of these names.
    """
    from plant_plugin.host.trainer import hook, register_networks

    def run(config: Config) -> Result:
        from plant_plugin.training.run import run

        return run(config)

    names = register_networks()
    hook(run)
    return names
