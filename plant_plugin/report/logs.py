"""``logs.json`` in the form that LibMultiLabel writes it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from plant_plugin.files import atomic_write


def append_log(path: str | Path, split: str, metrics: Mapping[str, float]) -> None:
    """Add one evaluation of ``split`` (``val`` each epoch, ``test`` at the end) to ``logs.json``."""
    content = _read(path)
    content.setdefault(split, []).append(dict(metrics))
    _write(path, content)


def write_log_config(path: str | Path, config: Mapping[str, Any]) -> None:
    """Store the configuration of the run in ``logs.json``."""
    _write(path, {**_read(path), "config": dict(config)})


def logged_config(folder: Path) -> dict[str, Any]:
    """The configuration that a run's folder tells; empty where it tells none."""
    content: dict[str, Any] = _read(folder / "logs.json").get("config", {})
    return content


def log_lengths(path: str | Path, splits: Iterable[str]) -> dict[str, int]:
    """How many evaluations of each split ``logs.json`` holds."""
    content = _read(path)
    return {split: len(content.get(split, ())) for split in splits}


def shorten_log(path: str | Path, lengths: Mapping[str, int]) -> None:
    """Keep the first evaluations of each split: a resumed run writes the others again."""
    content = _read(path)
    shortened = {split: content.get(split, [])[:length] for split, length in lengths.items()}
    kept = {**content, **shortened}
    if kept != content:
        _write(path, {split: values for split, values in kept.items() if values})


def _read(path: str | Path) -> dict[str, Any]:
    path = Path(path)
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return content


def _write(path: str | Path, content: dict[str, Any]) -> None:
    with atomic_write(path) as temporary:
        temporary.write_text(json.dumps(content, default=str), encoding="utf-8")
