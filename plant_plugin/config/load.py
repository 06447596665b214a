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
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import yaml

from plant_plugin.config import registry
from plant_plugin.config.options import AUTO, Block
from plant_plugin.config.problems import Problems, read_section
from plant_plugin.config.removed import REMOVED
from plant_plugin.config.rules import DATA_KEYS, DEMO, check, reads_whole_documents
from plant_plugin.config.sections import BLOCKS, FIELDS, MAPPINGS, OPTIONS, Settings
from plant_plugin.config.values import Keys
from plant_plugin.config.yaml_file import find_config, packaged_configs, parse, read_yaml
from plant_plugin.errors import ConfigError, suggestion

# Where things are written or kept, and how the work is spread: the result does not depend on them.
WITHOUT_INFLUENCE = frozenset(name for name, field in FIELDS.items() if not field.metadata["influence"])


@dataclass(frozen=True, kw_only=True)
class Config(Settings):
    """A checked configuration; every key is an attribute."""

    config_path: Path | None  # the YAML file
    run_name: str  # ``DATA_CONFIG_YYYYmmddHHMMSS``, or the name of the folder to resume
    checkpoint_dir: Path  # the run's folder
    trust_code: bool = False  # load a model of LibMultiLabel, which is a pickle and can run any code
    given: Keys = dataclasses.field(default_factory=dict)  # what file and flags said, unchecked
    settled: str = ""  # with `choose`, once that is done: the file that says what was chosen
    identity: str | None = None  # hash of the configuration that this one is a pass of; None: its own

    if not TYPE_CHECKING:  # known keys have types

        def __getattr__(self, name: str) -> NoReturn:
            raise AttributeError(f"a configuration has no key {name!r}")

    @property
    def config_name(self) -> str:
        """Stem of the YAML file, or the model's name."""
        return self.config_path.stem if self.config_path else self.model_name

    @property
    def log_path(self) -> Path:
        """``logs.json`` of the run."""
        return self.checkpoint_dir / "logs.json"

    @property
    def predictions_path(self) -> str:
        """Where predictions go: ``predict_out_path``, or ``predictions.txt`` of the run."""
        return self.predict_out_path or str(self.checkpoint_dir / "predictions.txt")

    def as_dict(self) -> Keys:
        """Every key with its value, blocks as dictionaries; what JSON and YAML can hold."""
        return {name: value for name, value in asdict(self).items() if name in FIELDS}

    def resumed(self, folder: Path | None) -> Config:
        """The configuration that goes on in the folder of a run; None: a new run."""
        if folder is None:
            return replace(self, resume=None)
        return replace(self, resume=str(folder), run_name=folder.resolve().name, checkpoint_dir=folder)

    def on_both(self, **blocks: Block) -> Config:
        """The pass of ``refit: train+val`` that reads both splits as one, with other ``blocks``, under one hash."""
        return replace(self, merge_train_val=True, identity=self.hash(), **blocks)  # type: ignore[arg-type]

    def hash(self) -> str:
        """SHA-256, in hexadecimal, of every key that the result depends on."""
        if self.identity is not None:
            return self.identity
        content = _counted(self)
        for block, keys in REMOVED.items():
            if block in content:  # those that came later count where they say something
                content[block] |= {key: removed.neutral[0] for key, removed in keys.items() if removed.counted}
        return hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()


def _counted(section: Settings | Block) -> Keys:
    """What the result depends on; keys that came after the first runs only where they are not at their defaults."""
    content: Keys = {}
    for field in FIELDS.values() if isinstance(section, Settings) else dataclasses.fields(section):
        name, value = field.name, getattr(section, field.name)
        if not field.metadata["influence"] or (field.metadata["later"] and value == field.default):
            continue
        is_number = name in OPTIONS and OPTIONS[name].type is float and isinstance(section, Settings)
        if is_number and value is not None:
            value = float(value)  # 0 and 0.0 are the same value; those of blocks were never made one
        content[name] = _counted(value) if isinstance(value, Block) else value
    return content


def load_config(path_or_name: str | Path | None, overrides: Mapping[str, object] | None = None) -> Config:
    """Read and check a configuration.

    Args:
        path_or_name: A YAML file, the name of a packaged configuration, or None for flags alone.
        overrides: Values that beat those of the file. Keys are top-level names, or dotted for one key of a block
            (``stage1.k``, ``network_config.hidden_size``); a text under a dotted key is read as YAML. A whole block
            replaces the file's.

    Raises:
        ConfigError: With every problem found, in ``problems``.
    """
    return checked_config(*read_given(path_or_name, overrides))


def read_given(path_or_name: str | Path | None, overrides: Mapping[str, object] | None = None) -> tuple[Keys, Problems]:
    """What a file that can be read and flags say, unchecked, and where: the arguments of :func:`checked_config`."""
    given, problems = ({}, Problems()) if path_or_name is None else read_yaml(find_config(path_or_name))
    for key, value in (overrides or {}).items():
        problems.lines.pop(key, None)
        _override(given, key, value, problems)
    if "training_file" in (overrides or {}) and problems.path in packaged_configs().values():
        _without_missing_files(given, overrides or {})
    return given, problems


def _without_missing_files(given: Keys, overrides: Mapping[str, object]) -> None:
    """On data of one's own, the other files of a packaged configuration are not missed where they are not there."""
    evidence = given.get("evidence")
    for keys, above in ((given, ""), (evidence if isinstance(evidence, dict) else {}, "evidence.")):
        for key in DATA_KEYS:
            name = keys.get(key)
            if above + key not in overrides and isinstance(name, str) and not (name in DEMO or os.path.exists(name)):
                del keys[key]


def checked_config(given: Mapping[str, object], problems: Problems) -> Config:
    """The configuration of :func:`read_given`'s values, which stay, or a ``ConfigError`` with every problem found."""
    path = problems.path
    settings = read_section(Settings, _as_today(given), problems)
    changes: Keys = {"early_stopping_metric": settings.early_stopping_metric or settings.val_metric}
    if settings.registry is not None:  # before anything is looked up
        changes["registry"] = str(Path(settings.registry).resolve())
        try:
            registry.use(settings.registry)
        except ConfigError as error:
            problems.add("registry", f"{error.what}, in {error.where}", error.fix)
    if "max_seq_length" not in given and reads_whole_documents(settings):
        changes["max_seq_length"] = None
    settings = replace(settings, **changes)
    problems.all_read()
    check(settings, problems)
    problems.raise_if_any()
    run_name = f"{settings.data_name}_{path.stem if path else settings.model_name}_{datetime.now():%Y%m%d%H%M%S}"
    values = {name: getattr(settings, name) for name in FIELDS}
    folder = Path(settings.result_dir) / run_name
    config = Config(**values, config_path=path, run_name=run_name, checkpoint_dir=folder, given=_as_today(given))
    return config if config.resume in (None, AUTO) else config.resumed(Path(config.resume))


def _as_today(given: Mapping[str, object]) -> Keys:
    """A copy without blocks that say nothing, and without removed keys at the defaults that older runs wrote down."""
    named = (*BLOCKS, *MAPPINGS)
    copied: Keys = {key: copy.deepcopy(value) for key, value in given.items() if value is not None or key not in named}
    for block, keys in REMOVED.items():
        if isinstance(copied.get(block), dict):
            told = copied[block].items()
            copied[block] = {key: value for key, value in told if key not in keys or value != keys[key].neutral[0]}
    return copied


def _override(given: Keys, key: str, value: object, problems: Problems) -> None:
    """Put one flag's value over those of the file."""
    block, dot, inner = key.partition(".")
    if isinstance(value, str) and (dot or block in (*BLOCKS, *MAPPINGS)):
        try:
            value = parse(value)
        except yaml.YAMLError:
            problems.add(key, f"{value!r} is not YAML", "put texts with special characters in quotes")
            return
    if not dot:
        given[key] = value
    elif block not in (*BLOCKS, *MAPPINGS):
        problems.add(key, "there is no such block", suggestion(block, (*BLOCKS, *MAPPINGS)))
    else:
        present = given.get(block)
        given[block] = {**(present if isinstance(present, dict) else {}), inner: value}
