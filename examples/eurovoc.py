"""EuroVoc topics of laws: PLANT beside the linear model, with tests: ``python eurovoc.py``.

Stand where ``data/eurlex6k`` lies (6,000 laws for training). About 40 minutes on two cores.
"""

from __future__ import annotations

from typing import Any

from plant_plugin.config import load_config
from plant_plugin.report.compare import compare
from plant_plugin.report.formats import markdown
from plant_plugin.report.read_systems import load_systems
from plant_plugin.training.run import run

METRICS = ["P@5", "nDCG@5", "Micro-F1@micro", "Macro-F1-present@macro"]


def main(**changes: Any) -> None:
    """Train both, and compare what they do on the same test documents.

    Args:
        changes: Keys of a configuration that beat the packaged ones, for both.
    """
    folders = {}
    for name in ("linear", "plant"):
        config = load_config(f"{name}_eurlex6k.yml", {"silent": True, **changes})
        run(config)
        folders[name] = config.checkpoint_dir
    results = load_systems([f"{name}={folder}" for name, folder in folders.items()])
    print(markdown(compare(results, "linear", metrics=METRICS)))


if __name__ == "__main__":
    main()
