"""``logs.json`` in the form that LibMultiLabel writes it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from typing_extensions import TypedDict

from plant_plugin.files import read_json, write_json

LOGS = "logs.json"


class SplitFiles(TypedDict, total=False):
    """The files of two splits."""

    val_file: str | None
    test_file: str | None


class LoggedConfig(SplitFiles, total=False):
    """The part of the configuration that is read again: its text files, and where the evidence in them lies."""

    training_file: str | None
    text_column: str  # of tables
    labels_column: str
    evidence: SplitFiles | None


Evaluations = list[dict[str, float | None]]  # one after the other
Logs = dict[str, Evaluations | LoggedConfig]  # those of each split, and the `config`


def read_logs(path: Path) -> Logs:
    """Read the file; nothing where there is none.

    Raises:
        CheckpointError: The file is torn.
    """
    try:
        return read_json(path, Logs, what="the log of a run", fix="remove it, or copy it again")
    except FileNotFoundError:
        return {}


def evaluations(logs: Logs, split: str) -> Evaluations:
    """Return the evaluations of a split, or of ``stage1``."""
    values = logs.get(split, [])
    return values if isinstance(values, list) else []


def logged_config(folder: Path) -> LoggedConfig:
    """Read the configuration from a run's folder; empty where it holds none."""
    config = read_logs(folder / LOGS).get("config", {}) if folder.is_dir() else {}
    return {} if isinstance(config, list) else config


def append_log(path: Path, split: str, metrics: Mapping[str, float]) -> None:
    """Add one evaluation of ``split`` (``val`` each epoch, ``test`` at the end) to ``logs.json``."""
    logs = read_logs(path)
    write_logs(path, {**logs, split: [*evaluations(logs, split), dict(metrics)]})


def write_log_config(path: Path, config: Mapping[str, object]) -> None:
    """Store the configuration of the run in ``logs.json``."""
    write_logs(path, {**read_logs(path), "config": dict(config)})


def without_config(logs: Logs) -> Logs:
    """Return only the evaluations."""
    return {split: values for split, values in logs.items() if isinstance(values, list)}


def shorten_log(path: Path, lengths: Mapping[str, int]) -> None:
    """Keep the first evaluations of each split: a resumed run writes the others again."""
    logs = read_logs(path)
    shortened = {**logs, **{split: evaluations(logs, split)[:length] for split, length in lengths.items()}}
    if shortened != logs:
        write_logs(path, {split: values for split, values in shortened.items() if values})


def write_logs(path: Path, content: Mapping[str, object]) -> None:
    """Store whole logs."""
    write_json(path, content, default=str)
