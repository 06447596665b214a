"""One run's configuration: LibMultiLabel's keys and ours, from a YAML file and from flags.

    config = load_config("plant_demo.yml", {"seed": 1, "stage1.k": 500})
    config.learning_rate, config.stage1.k, config.network_config["encoder"]

Everything that can be known to be wrong before data are read is reported at once. Imports neither torch nor pandas.
"""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml

from plant_plugin.config.language_model import reads_whole_documents
from plant_plugin.config.options import (
    AUTO,
    EvidenceOptions,
    PlantedScoresOptions,
    RelevanceOptions,
    Stage1Options,
    Stage2Options,
)
from plant_plugin.config.problems import Problems
from plant_plugin.config.registry import suggestion
from plant_plugin.config.rules import check
from plant_plugin.config.schema import BLOCKS, MAPPINGS, OPTIONS, SEARCH_OPTIONS
from plant_plugin.config.values import block_fields, read_field, read_option
from plant_plugin.config.yaml_file import find_config, read_yaml

SEARCH_FIX = "`plant search FILE` takes it: it belongs to a search for hyper-parameters"
# Where things are written or kept, and how the work is spread: the result does not depend on them.
WITHOUT_INFLUENCE = frozenset(
    {
        "cache_dir",
        "checkpoint_every",
        "data_name",
        "data_workers",
        "embed_cache_dir",
        "kernels",
        "logger",
        "max_skipped_steps",
        "predict_out_path",
        "result_dir",
        "resume",
        "save_k_predictions",
        "save_positive_predictions",
        "silent",
        "without_packing",
    }
)


# Keys that are gone, with the values that runs of today have: without them no interrupted run would be the same.
REMOVED_OF_STAGE2 = {"label_share": 0.0, "watch_training": 0}


@dataclass(frozen=True)
class Config:
    """A checked configuration; every key is an attribute.

    Attributes:
        values: Top-level keys by name, ``network_config`` and ``scheduler_config`` included.
        relevance: Block.
        stage1: Block.
        stage2: Block.
        planted_scores: Block.
        evidence: Block.
        config_path: The YAML file, or None.
        run_name: ``DATA_CONFIG_YYYYmmddHHMMSS``, or the name of the folder to resume.
        checkpoint_dir: The run's folder.
        identity: Hash of the configuration that this one was made from, as one pass of its run; None: its own.
    """

    values: Mapping[str, Any]
    relevance: RelevanceOptions
    stage1: Stage1Options
    stage2: Stage2Options
    planted_scores: PlantedScoresOptions
    evidence: EvidenceOptions
    config_path: Path | None
    run_name: str
    checkpoint_dir: Path
    identity: str | None = None

    def __getattr__(self, name: str) -> Any:
        if name == "values" or name.startswith("__") or name not in self.values:
            raise AttributeError(f"a configuration has no key {name!r}")
        return self.values[name]

    @property
    def config_name(self) -> str:
        """Stem of the YAML file, or the model's name."""
        return self.config_path.stem if self.config_path else str(self.values["model_name"])

    @property
    def log_path(self) -> Path:
        """``logs.json`` of the run."""
        return self.checkpoint_dir / "logs.json"

    @property
    def predict_out_path(self) -> str:
        """Where predictions go: the key of this name, or ``predictions.txt`` of the run."""
        return str(self.values["predict_out_path"] or self.checkpoint_dir / "predictions.txt")

    def as_dict(self) -> dict[str, Any]:
        """Every key with its value, blocks as dictionaries; what JSON and YAML can hold."""
        blocks = {name: asdict(getattr(self, name)) for name in BLOCKS}
        return copy.deepcopy({**self.values, **blocks})

    def resumed(self, folder: Path | None) -> Config:
        """The configuration that goes on in the folder of a run; None: a new run."""
        if folder is None:
            return replace(self, values={**self.values, "resume": None})
        values = {**self.values, "resume": str(folder)}
        return replace(self, values=values, run_name=folder.resolve().name, checkpoint_dir=folder)

    def on_both(self, **blocks: Any) -> Config:
        """The pass of ``refit: train+val`` that reads training and validation documents as one, under the same hash.

        Args:
            blocks: Those that are other ones there.
        """
        return replace(self, values={**self.values, "merge_train_val": True}, identity=self.hash(), **blocks)

    def hash(self) -> str:
        """SHA-256, in hexadecimal, of every key that the result depends on."""
        if self.identity is not None:
            return self.identity
        counted = {name: _counted(name, value) for name, value in self.as_dict().items()}
        content = {name: value for name, value in counted.items() if name not in WITHOUT_INFLUENCE}
        for name, before in (("devices", 1), ("num_nodes", 1), ("refit", "none")):  # as runs were before these keys
            if content[name] == before:
                del content[name]
        content["stage2"] |= REMOVED_OF_STAGE2
        if self.evidence == EvidenceOptions():
            del content["evidence"]
        for name in ("linear_weight", "sentence_weight"):
            if content["planted_scores"][name] is None:
                del content["planted_scores"][name]
        return hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()


def load_config(path_or_name: str | Path | None, overrides: Mapping[str, Any] | None = None) -> Config:
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


def read_given(
    path_or_name: str | Path | None, overrides: Mapping[str, Any] | None = None
) -> tuple[dict[str, Any], Problems]:
    """What a file and flags say, unchecked, and where: the two arguments of :func:`checked_config`.

    Raises:
        ConfigError: The file cannot be read.
    """
    problems = Problems()
    given: dict[str, Any] = {}
    if path_or_name is not None:
        path = find_config(path_or_name)
        given, lines, found = read_yaml(path)
        problems = Problems(path, lines, found)
    for key, value in (overrides or {}).items():
        problems.lines.pop(key, None)
        _override(given, key, value, problems)
    return given, problems


def checked_config(given: dict[str, Any], problems: Problems) -> Config:
    """The configuration of :func:`read_given`'s values, which stay as they are.

    Raises:
        ConfigError: With every problem found, those in ``problems`` first.
    """
    path = problems.path
    values = _read_values(given, problems)
    blocks = {name: _read_block(name, given.get(name), problems) for name in BLOCKS}
    values["early_stopping_metric"] = values["early_stopping_metric"] or values["val_metric"]
    problems.all_read()
    check(values, blocks, problems)
    problems.raise_if_any()
    stem = path.stem if path else values["model_name"]
    run_name = f"{values['data_name']}_{stem}_{datetime.now():%Y%m%d%H%M%S}"
    config = Config(values, **blocks, config_path=path, run_name=run_name,
                    checkpoint_dir=Path(values["result_dir"]) / run_name)  # fmt: skip
    return config if values["resume"] in (None, AUTO) else config.resumed(Path(values["resume"]))


def _counted(name: str, value: Any) -> Any:
    """0 and 0.0 are the same value of a key that takes numbers."""
    is_number = name in OPTIONS and OPTIONS[name].type is float and value is not None
    return float(value) if is_number else value


def _override(given: dict[str, Any], key: str, value: Any, problems: Problems) -> None:
    """Put one flag's value over those of the file."""
    block, dot, inner = key.partition(".")
    if isinstance(value, str) and (dot or block in (*BLOCKS, *MAPPINGS)):
        try:
            value = yaml.safe_load(value)
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


def _read_values(given: dict[str, Any], problems: Problems) -> dict[str, Any]:
    """Top-level keys, with defaults where nothing (or something wrong) is given."""
    known = (*OPTIONS, *BLOCKS, *MAPPINGS)
    for key in given:
        if key not in known:
            fix = SEARCH_FIX if key in SEARCH_OPTIONS else suggestion(str(key), known)
            problems.add(str(key), "there is no such key", fix)
    values: dict[str, Any] = {}
    for name, option in OPTIONS.items():
        values[name] = list(option.default) if option.nargs == "+" else option.default
        if name in given:
            try:
                values[name] = read_option(option, given[name])
            except ValueError as error:
                problems.add(name, str(error))
    for name in MAPPINGS:
        value = given.get(name)
        if value is not None and not isinstance(value, dict):
            problems.add(name, f"has to be `name: value` lines, not {type(value).__name__}")
            value = None
        values[name] = copy.deepcopy(value)
    values["network_config"] = values["network_config"] or {}
    if "max_seq_length" not in given and reads_whole_documents(values):
        values["max_seq_length"] = None
    return values


def _read_block(block: str, given: Any, problems: Problems) -> Any:
    """A block as its dataclass; what is wrong keeps its default."""
    kind = BLOCKS[block]
    if given is None:
        return kind()
    if not isinstance(given, dict):
        problems.add(block, f"has to be `name: value` lines, not {type(given).__name__}")
        return kind()
    fields, read = block_fields(block), {}
    for name, value in given.items():
        key = f"{block}.{name}"
        if name not in fields:
            problems.add(key, "there is no such key", suggestion(str(name), tuple(fields)))
            continue
        try:
            read[name] = read_field(block, name, value)
        except ValueError as error:
            problems.add(key, str(error))
    return kind(**read)
