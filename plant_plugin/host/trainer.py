"""Our strategies in the place of LibMultiLabel's ``TorchTrainer``, as its ``main.py`` calls it.

The scripts of a clone are no part of the package ``libmultilabel``; ``torch_trainer`` is found when it is imported.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from libmultilabel.nn import networks

from plant_plugin.config import Config, load_config, registry
from plant_plugin.config.load import read_given
from plant_plugin.config.rules import DATA_KEYS
from plant_plugin.config.sections import FIELDS, OPTIONS
from plant_plugin.config.values import Value
from plant_plugin.errors import ConfigError, PlantError

if TYPE_CHECKING:
    from plant_plugin.report.result import Result

MODULE, CLASS = "torch_trainer", "TorchTrainer"  # in the folder of main.py
NAMES = ("datasets", "classes", "word_dict", "embed_vecs", "save_checkpoints")  # of its arguments after the first
Strategy = Callable[[Config], "Result"]


class StrategyTrainer:
    """The trainer that ``TorchTrainer(config)`` gives where our strategies train: the same calls, all of one run.

    Args:
        config: What ``main.py`` made of its file and flags; keys that it does not know come from the file.
        run: Trains and tests: :func:`plant_plugin.training.run.run`.
        inputs: Whatever else ``TorchTrainer`` was handed, e.g. ``datasets``: refused, a run reads the files.

    Raises:
        ConfigError: Something is wrong with the configuration, with the line of the file.
    """

    def __init__(self, config: Mapping[str, Value], run: Strategy, inputs: Mapping[str, object]) -> None:
        if handed := [name for name, value in inputs.items() if value is not None and name != "save_checkpoints"]:
            fix = "leave them out; for a search say `plant search FILE`"
            what = f"{config['model_name']} reads its files itself, and was handed {', '.join(handed)}"
            raise ConfigError(what, where=CLASS, fix=fix)
        self.config = configuration(config)
        self._run = run
        self._result: Result = {}
        files = zip(("train", "val", "test"), DATA_KEYS, strict=True)
        self.datasets = {split: getattr(self.config, key) for split, key in files if getattr(self.config, key)}

    def train(self) -> None:
        """Train by the strategy and, where there is a test file, test: a run is one."""
        self._result = self._run(self.config)

    def test(self, split: str = "test") -> dict[str, float]:
        """Return the test metrics of this run; without one, of the model of ``checkpoint_path``."""
        if split != "test":
            raise ConfigError("only the test file is tested", where=f"split {split}", fix="name it as test_file")
        if not self._result:
            self._result = self._run(replace(self.config, eval=True))
        if self._result and not self.config.silent:
            from plant_plugin.report.tables import print_results

            print_results(self._result)
        return {name: value for name, value in self._result.get("metrics", {}).items() if value is not None}


def configuration(theirs: Mapping[str, Value]) -> Config:
    """Return our configuration of what ``main.py`` parsed, in the run folder that it chose.

    Its arguments do not distinguish a default from the same value as a flag; so only what differs from file and default
    counts as a flag. That matters only for ``--max_seq_length 500`` over a language model, which has to be in the file.
    """
    path = theirs.get("config")
    written = read_given(path)[0]
    folder = Path(theirs["checkpoint_dir"])
    known = {name: value for name, value in theirs.items() if name in FIELDS}
    flags = {name: value for name, value in known.items() if value != written.get(name, _unset(name))}
    if flags.get("predict_out_path") == os.path.join(theirs["checkpoint_dir"], "predictions.txt"):
        flags["predict_out_path"] = None  # which means that place
    ours = load_config(path, flags)
    if ours.resume is not None:
        return ours
    return replace(ours, run_name=theirs["run_name"], checkpoint_dir=folder)


def _unset(name: str) -> Value:
    """Return the value that ``main.py`` holds for a key that nobody gave."""
    if name not in OPTIONS:
        return None
    default = OPTIONS[name].default
    return list(default) if isinstance(default, tuple) else default


def hook(run: Strategy) -> None:
    """Let ``torch_trainer.TorchTrainer`` make a :class:`StrategyTrainer` for networks of ours, now or once it is there.

    For all others it is as it was: no function of LibMultiLabel is replaced.
    """
    if MODULE in sys.modules:
        _hook(sys.modules[MODULE], run)
    elif not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder(run))


class _Finder(MetaPathFinder):
    """Finds ``torch_trainer`` where Python would, and hooks it after its import."""

    def __init__(self, run: Strategy) -> None:
        self._run = run

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path) if name == MODULE else None
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def execute_and_hook(module: ModuleType) -> None:
            execute(module)
            _hook(module, self._run)

        spec.loader.exec_module = execute_and_hook  # type: ignore[method-assign]
        return spec


def _hook(module: ModuleType, run: Strategy) -> None:
    theirs = getattr(module, CLASS, None)
    if not isinstance(theirs, type) or "__new__" in vars(theirs):  # some other module, or hooked already
        return

    def new(cls: type, config: Mapping[str, Value], *positional: object, **named: object) -> object:
        if not is_ours(config):
            return object.__new__(cls)
        return StrategyTrainer(config, run, {**dict(zip(NAMES, positional, strict=False)), **named})

    theirs.__new__ = new  # type: ignore[assignment, method-assign]


def is_ours(config: Mapping[str, Value]) -> bool:
    """Tell whether a strategy of ours trains the network of ``main.py``'s configuration."""
    registry.use(config.get("registry"))
    name = str(config.get("model_name"))
    return ":" in name or (name in registry.entries("networks") and registry.get("networks", name).ours)


def register_networks() -> tuple[str, ...]:
    """Put every network of this package into ``libmultilabel.nn.networks``.

    All names are checked before the first one is set, so a refusal leaves LibMultiLabel as it was.

    Returns:
        The registered names, in the order of the registry.

    Raises:
        PlantError: LibMultiLabel already has a different object under one of the names.
    """
    ours = {name: entry.load() for name, entry in registry.entries("networks").items() if entry.ours}
    for name, network in ours.items():
        present = getattr(networks, name, network)
        if present is not network:
            origin = getattr(present, "__module__", None) or type(present).__name__
            what = f"LibMultiLabel already has a network called {name} ({origin}), and it is not ours"
            fix = "rename that one, or remove what put it there before plant_plugin.register() is called"
            raise PlantError(what, where="libmultilabel.nn.networks", fix=fix)
    for name, network in ours.items():
        setattr(networks, name, network)
    return tuple(ours)
