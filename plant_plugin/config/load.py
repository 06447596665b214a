"""One run's configuration: LibMultiLabel's keys and ours, from a YAML file and from flags.

config = load_config("plant_demo.yml", {"seed": 1, "stage1.k": 500})
config.learning_rate, config.stage1.k, config.network_config["encoder"]
"""

from __future__ import annotations

import copy
import dataclasses
import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import yaml

from plant_plugin.config import registry
from plant_plugin.config.alternatives import replace_alternative
from plant_plugin.config.methods import read_configuration
from plant_plugin.config.options import AUTO, Block
from plant_plugin.config.problems import Problems, read_section
from plant_plugin.config.rules import DATA_KEYS, DEMO, check, reads_whole_documents
from plant_plugin.config.sections import BLOCKS, FIELDS, MAPPINGS, Settings
from plant_plugin.config.values import Keys
from plant_plugin.config.yaml_file import parse
from plant_plugin.errors import ConfigError, suggestion

# Where things are written or kept, and how the work is spread: the result does not depend on them.
WITHOUT_INFLUENCE = frozenset(name for name, field in FIELDS.items() if not field.metadata["influence"])


@dataclass(frozen=True, kw_only=True)
class Config(Settings):
    """A checked configuration; every key is an attribute."""

    config_path: Path | None  # the YAML file, or NAME.yml of a packaged configuration
    run_name: str  # ``DATA_CONFIG_YYYYmmddHHMMSS``, or the name of the folder to resume
    checkpoint_dir: Path  # the run's folder
    trust_code: bool = False  # load a model of LibMultiLabel, which is a pickle and can run any code
    unchecked: Keys = dataclasses.field(default_factory=dict)  # as file and flags have it
    settled: str = ""  # with `choose`, once that is done: the file that says what was chosen
    identity: str | None = None  # hash of the configuration that this one is a pass of; None: its own

    if not TYPE_CHECKING:  # known keys have types

        def __getattr__(self, name: str) -> NoReturn:
            raise AttributeError(f"a configuration has no key {name!r}")

    @property
    def config_name(self) -> str:
        """Return the stem of the YAML file, or the model's name."""
        return self.config_path.stem if self.config_path else self.model_name

    @property
    def log_path(self) -> Path:
        """Return ``logs.json`` of the run."""
        return self.checkpoint_dir / "logs.json"

    @property
    def predictions_path(self) -> str:
        """Return the file of predictions: ``predict_out_path``, or ``predictions.txt`` of the run."""
        return self.predict_out_path or str(self.checkpoint_dir / "predictions.txt")

    @property
    def new_folder(self) -> Path:
        """Return the folder of a run that nobody has named another."""
        return Path(self.result_dir) / self.run_name

    def resumed(self, folder: Path | None) -> Config:
        """Return the configuration that resumes in the folder of a run; None: a new run."""
        if folder is None:
            return replace(self, resume=None)
        return replace(self, resume=str(folder), run_name=folder.resolve().name, checkpoint_dir=folder)

    def on_both(self, **blocks: Block) -> Config:
        """Return the pass of ``refit: train+val`` that reads both splits, with other ``blocks``, under this hash."""
        return replace(self, merge_train_val=True, identity=self.hash(), **blocks)  # type: ignore[arg-type]

    def hash(self) -> str:
        """Return the SHA-256, in hexadecimal, of :meth:`changed`, where 1 and 1.0 are the same value."""
        if self.identity is not None:
            return self.identity
        return hashlib.sha256(json.dumps(_plain(self.changed()), sort_keys=True).encode()).hexdigest()

    def changed(self) -> Keys:
        """Return the keys that a result depends on and that are not at their defaults, blocks as dictionaries."""
        changed = _changed(self, Settings())
        arguments = changed.pop("network_config", {})
        counted = arguments and not self.linear
        defaults = registry.get("networks", self.model_name).signature(arguments) if counted else {}
        for name, value in arguments.items():
            if _plain(value) != _plain(defaults.get(name)):
                changed.setdefault("network_config", {})[name] = value
        return changed


def _changed(section: Block, defaults: Block) -> Keys:
    changed: Keys = {}
    for field in dataclasses.fields(defaults):
        value, default = getattr(section, field.name), getattr(defaults, field.name)
        if field.metadata["influence"] and value != default:
            changed[field.name] = _changed(value, default) if isinstance(value, Block) else value
    return changed


def _plain(value: object) -> object:
    """Return a value as JSON reads it: lists for tuples, every number a float."""
    return json.loads(json.dumps(value, default=str), parse_int=float)


def load_config(path_or_name: str | Path | None, overrides: Mapping[str, object] | None = None) -> Config:
    """Read and check a configuration.

    Args:
        path_or_name: A YAML file, the name of a packaged configuration, or None for flags only.
        overrides: Values that beat those of the file. Keys are top-level names, or dotted for one key of a block
            (``stage1.k``, ``network_config.hidden_size``); a text under a dotted key is read as YAML. A whole block
            replaces the file's.

    Raises:
        ConfigError: With every problem found, in ``problems``.
    """
    return checked_config(*read_given(path_or_name, overrides))


def read_given(path_or_name: str | Path | None, overrides: Mapping[str, object] | None = None) -> tuple[Keys, Problems]:
    """Read, unchecked, what a file and flags say, and where: the arguments of :func:`checked_config`."""
    overrides = overrides or {}
    values, problems = ({}, Problems()) if path_or_name is None else read_configuration(path_or_name)
    replace_alternative(values, overrides)
    for key, value in overrides.items():
        problems.lines.pop(key, None)
        _override(values, key, value, problems)
    is_packaged = problems.path is not None and not problems.path.is_file()
    if "training_file" in overrides and is_packaged:
        _without_missing_files(values, overrides)
    return values, problems


def _without_missing_files(values: Keys, overrides: Mapping[str, object]) -> None:
    """Leave out, on a user's data, the other files of a packaged configuration that are not there."""
    evidence = values.get("evidence")
    for keys, above in ((values, ""), (evidence if isinstance(evidence, dict) else {}, "evidence.")):
        for key in DATA_KEYS:
            name = keys.get(key)
            if above + key not in overrides and isinstance(name, str) and not (name in DEMO or os.path.exists(name)):
                del keys[key]


def checked_config(content: Mapping[str, object], problems: Problems) -> Config:
    """Check :func:`read_given`'s values, which stay as they are; a ``ConfigError`` holds every problem."""
    path = problems.path
    values = dict(copy.deepcopy(content))
    for name in (*BLOCKS, *MAPPINGS):
        if name in values and values[name] is None:  # a block that says nothing
            del values[name]
    settings = read_section(Settings, values, problems)
    changes: Keys = {"early_stopping_metric": settings.stop_on}
    if settings.registry is not None:  # before anything is looked up
        changes["registry"] = str(Path(settings.registry).resolve())
        try:
            registry.use(settings.registry)
        except ConfigError as error:
            problems.add("registry", f"{error.what}, in {error.where}", error.fix)
    if "max_seq_length" not in values and reads_whole_documents(settings):
        changes["max_seq_length"] = None
    settings = replace(settings, **changes)
    problems.all_read()
    check(settings, problems)
    problems.raise_if_any()
    run_name = f"{settings.data_name}_{path.stem if path else settings.model_name}_{datetime.now():%Y%m%d%H%M%S}"
    folder = Path(settings.result_dir) / run_name
    config = Config(**vars(settings), config_path=path, run_name=run_name, checkpoint_dir=folder, unchecked=values)
    return config if config.resume in (None, AUTO) else config.resumed(Path(config.resume))


def _override(values: Keys, key: str, value: object, problems: Problems) -> None:
    """Put one flag's value over those of the file."""
    block, dot, inner = key.partition(".")
    if isinstance(value, str) and (dot or block in (*BLOCKS, *MAPPINGS)):
        try:
            value = parse(value)
        except yaml.YAMLError:
            problems.add(key, f"{value!r} is not YAML", "put texts with special characters in quotes")
            return
    if not dot:
        values[key] = value
    elif block not in (*BLOCKS, *MAPPINGS):
        problems.add(key, "there is no such block", suggestion(block, (*BLOCKS, *MAPPINGS)))
    else:
        present = values.get(block)
        values[block] = {**(present if isinstance(present, dict) else {}), inner: value}
