"""``result.json``: one file per run with every number and all that is needed to judge it."""

from __future__ import annotations

import importlib.metadata
import json
import math
import os
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plant_plugin.files import atomic_write
from plant_plugin.report.machine import processor_name, usable_cores

if TYPE_CHECKING:
    from plant_plugin.config import Config
    from plant_plugin.evaluation.per_document import PerDocument

PER_DOCUMENT = "per_document.npz"  # beside result.json: what the tests of `plant compare` need

# What can change a number. Read from package metadata: nothing is imported for it.
PACKAGES = (
    "plant-plugin",
    "libmultilabel",
    "torch",
    "lightning",
    "torchmetrics",
    "transformers",
    "peft",
    "bitsandbytes",
    "numpy",
    "scipy",
    "scikit-learn",
    "liblinear-multicore",
    "pyxclib",
)


def write_result(
    path: str | os.PathLike[str],
    *,
    config: Config,
    model: str,
    strategy: str,
    split: str,
    metrics: Mapping[str, float],
    counts: Mapping[str, int],
    thresholds: Mapping[str, float],
    time_s: Mapping[str, float],
    cpu_s: Mapping[str, float],
    peak_memory_mb: float | Mapping[str, float],
    hashes: Mapping[str, str],
    backend: str,
    device: str,
    truncated: Mapping[str, float] | None = None,
    planted_scores: Mapping[str, float] | None = None,
    epochs: Mapping[str, int] | None = None,
) -> dict[str, Any]:
    """Write the result of a run, whole or not at all.

    Args:
        path: The file, usually ``result.json`` in the run's folder.
        config: The configuration; its name, data set, seed and hash are recorded, no path and no text.
        model: E.g. ``PLANT`` or ``linear-1vsrest``.
        strategy: E.g. ``plant``, ``planted_scores`` or ``libmultilabel``.
        split: Which split the metrics are of, e.g. ``test``.
        metrics: Exact name -> fraction, not percent. What is undefined (NaN) becomes null.
        counts: Documents, labels and what was left out.
        thresholds: Name -> threshold in score space (logit), tuned on validation but for ``0.5``.
        time_s: Phase -> wall seconds, with ``total``.
        cpu_s: The same in seconds of the process on all cores together; of a phase on a GPU they say little.
        peak_memory_mb: Megabytes, of the run or phase by phase.
        hashes: Of the label list and of each split; the configuration's is added.
        backend: Who computed the propensity-scored metrics, ``xclib`` or ``builtin``.
        device: Where it ran.
        truncated: Share of each split's documents that were not read to their end; None or empty: unknown.
        planted_scores: What was chosen for them, by the name of the option; None or empty: there are none.
        epochs: Of each stage in the training again of ``refit``, found in the first; None: it was not trained again.

    Returns:
        The content of the file.

    Raises:
        PlantError: The disk is full or the folder cannot be written.
    """
    result: dict[str, Any] = {
        "dataset": dataset_name(config),
        "config": config.config_name,
        "model": model,
        "strategy": strategy,
        "seed": config.seed,
        "split": split,
        "metrics": plain(metrics),
        "counts": plain(counts),
        "thresholds": plain(thresholds),
        **({"truncated": plain(truncated)} if truncated else {}),
        **({"planted_scores": plain(planted_scores)} if planted_scores else {}),
        **({} if epochs is None else {"refit": {"documents": config.refit, "epochs": dict(epochs)}}),
        "time_s": plain(time_s),
        "cpu_s": plain(cpu_s),
        "peak_memory_mb": plain(peak_memory_mb),
        "device": device,
        "processor": {"name": processor_name(), "cores": usable_cores()},
        "hashes": {**hashes, "config": config.hash()},
        "versions": versions(),
        "backend": backend,
    }
    save_result(path, result)
    return result


def save_result(path: str | os.PathLike[str], result: Mapping[str, Any], documents: PerDocument | None = None) -> None:
    """Write a result and, beside it, what its documents contribute; each whole or not at all.

    Raises:
        PlantError: The disk is full or the folder cannot be written.
    """
    if documents is not None:
        documents.save(per_document_path(path))
    with atomic_write(path) as temporary:
        temporary.write_text(json.dumps(result, indent=1, allow_nan=False) + "\n", encoding="utf-8")


def per_document_path(result: str | os.PathLike[str]) -> Path:
    """Where the per-document values of a result lie: ``per_document.npz`` of a run, ``seed1.npz`` of ``seed1.json``."""
    path = Path(result)
    return path.with_name(PER_DOCUMENT) if path.name == "result.json" else path.with_suffix(".npz")


def dataset_name(config: Config) -> str:
    """The data set: ``data_name`` where given, else the folder of the training or test file; ``demo``: built-in."""
    name = getattr(config, "data_name", None)
    if name and name != "unnamed":
        return str(name)
    file = getattr(config, "training_file", None) or getattr(config, "test_file", None)
    if not file:
        return "unnamed"
    if str(file).startswith("demo:"):
        return "demo"
    return Path(file).resolve().parent.name or "unnamed"


def versions() -> dict[str, str]:
    """Python and every installed package that can change a number."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def plain(value: Any) -> Any:
    """The same in types that JSON has: numpy numbers become Python's, NaN and infinities null."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
