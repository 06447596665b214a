"""One run of ``libmultilabel``: who does the work."""

from __future__ import annotations

import functools
import os
from pathlib import Path
from typing import Any

from plant_plugin.config import Config, registry
from plant_plugin.errors import PlantError
from plant_plugin.report.record import found_again
from plant_plugin.report.run import Run


def run(config: Config, *, tests: bool = True) -> dict[str, Any]:
    """Train and, unless ``tests`` is false, test what the configuration names.

    Returns:
        The content of ``result.json``, or an empty dictionary when there was nothing to test.
    """
    config = found_again(config)
    if config.devices * config.num_nodes == 1 and os.environ.get("WORLD_SIZE", "1") == "1":
        return _run(config, tests=tests)
    from plant_plugin.training.devices import together

    return together(config, functools.partial(_run, tests=tests))


def _run(config: Config, writes: bool = True, *, tests: bool) -> dict[str, Any]:
    """One of the processes of a run."""
    record = Run(Path(config.checkpoint_dir), silent=config.silent, tests=tests, writes=writes)
    try:
        if config.linear or not registry.get("networks", config.model_name).ours:
            from plant_plugin.host.baseline import run_baseline

            return run_baseline(config, record)
        strategy = registry.get("strategies", config.strategy).load()
        result: dict[str, Any] = strategy(config, record)
    except PlantError:
        record.remove_empty_folder()
        raise
    return result
