"""PLANT for LibMultiLabel: label attention that is trained to rank tokens before the classifier is trained.

Shape key, used in every comment and docstring of the package: B documents in a batch, T token positions, L labels,
V token types (vocabulary), H hidden size, A attention heads, K rank cut, N training documents.

Importing the package imports neither torch nor LibMultiLabel, so that the commands start at once.
"""

from __future__ import annotations

import sys
import warnings
from functools import partial
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from plant_plugin.classifier import PlantClassifier as PlantClassifier
    from plant_plugin.config import Config
    from plant_plugin.model.predictor import Predictor as Predictor
    from plant_plugin.report.result import Result

__version__ = "0.1.0"

__all__ = ["PlantClassifier", "Predictor", "__version__", "register"]

# What other packages say of themselves, to nobody who uses this one: torchmetrics 0.10.3 imports pkg_resources
# (pyproject.toml keeps the setuptools that has it), Lightning compares tree specifications as torch once did.
for _message in ("pkg_resources is deprecated", r"`isinstance\(treespec, LeafSpec\)` is deprecated"):
    warnings.filterwarnings("ignore", message=_message)

# fetched when asked for: they import torch and scikit-learn
_LATE = {"PlantClassifier": "plant_plugin.classifier", "Predictor": "plant_plugin.model.predictor"}


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
    from plant_plugin.host.register import register_networks
    from plant_plugin.host.trainer import hook

    def run(config: Config) -> Result:
        from plant_plugin.training.run import run

        return run(config)

    names = register_networks()
    hook(run)
    return names


# Where modules that have moved stood; their old names work, with a warning.
_MOVED = {
    "plant_plugin.data.demo": "plant_plugin.data.documents",
    "plant_plugin.data.libmultilabel_txt": "plant_plugin.data.text",
    "plant_plugin.evaluation.significance": "plant_plugin.evaluation.resampling",
    "plant_plugin.kernels": "plant_plugin.networks.kernels",
    "plant_plugin.losses.focal": "plant_plugin.networks.losses",
    "plant_plugin.losses.lambda_rank": "plant_plugin.networks.losses",
    "plant_plugin.losses": "plant_plugin.networks.losses",
    "plant_plugin.networks.backbone.adapters": "plant_plugin.networks.backbone.loading",
    "plant_plugin.networks.backbone.stateful": "plant_plugin.networks.backbone.words",
    "plant_plugin.networks.frozen_backbone": "plant_plugin.networks.backbone",
    "plant_plugin.networks.kernels.exponential": "plant_plugin.networks.kernels.compiled",
    "plant_plugin.networks.multi_res_cnn": "plant_plugin.networks.baselines",
    "plant_plugin.options": "plant_plugin.config.options",
    "plant_plugin.prediction": "plant_plugin.model",
    "plant_plugin.registry": "plant_plugin.config.registry",
    "plant_plugin.report.score_files": "plant_plugin.report.predictions",
    "plant_plugin.report.scored": "plant_plugin.report.result",
    "plant_plugin.run": "plant_plugin.training.run",
    "plant_plugin.search.trials": "plant_plugin.training.search.search",
    "plant_plugin.search": "plant_plugin.training.search",
    "plant_plugin.training.frozen_states": "plant_plugin.training.build",
    "plant_plugin.training.search.trials": "plant_plugin.training.search.search",
    "plant_plugin.training.state": "plant_plugin.training.loop",
}


class _Moved(MetaPathFinder, Loader):
    """Finds a moved module under its old name: a module that takes each of its names from the new place."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        return ModuleSpec(name, self, is_package=True) if _new_name(name) else None

    def exec_module(self, module: ModuleType) -> None:
        new = _new_name(module.__name__)
        warnings.warn(f"{module.__name__} is {new} now", DeprecationWarning, stacklevel=2)
        vars(module)["__getattr__"] = partial(getattr, import_module(new))


def _new_name(name: str) -> str:
    """Empty where a module has not moved."""
    old = next((old for old in _MOVED if name == old or name.startswith(f"{old}.")), None)
    return _MOVED[old] + name.removeprefix(old) if old else ""


sys.meta_path.append(_Moved())
