"""A tiny model of the marked task, and desks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from marked_task import marked_config, write_marked_splits

from plant_plugin.data.tables import read_any
from plant_plugin.model.predictor import Predictor
from plant_plugin.training.run import run

NAMES = {f"L{number}": f"sígn number {number}" for number in range(12)}


@pytest.fixture(scope="session")
def marked_task(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("marked")
    write_marked_splits(folder)
    return folder


@pytest.fixture(scope="session")
def run_folder(marked_task: Path) -> Path:
    """PLANT on the marked task, which knows most of its labels."""
    config = marked_config(marked_task, batch_size=16, stage2__epochs=6, planted_scores__weight=2.0)
    run(config)
    return Path(config.checkpoint_dir)


@pytest.fixture(scope="session")
def predictor(run_folder: Path) -> Predictor:
    return Predictor.load(run_folder, device="cpu", names=NAMES.get)


@pytest.fixture(scope="session")
def texts(marked_task: Path) -> list[str]:
    return read_any(marked_task / "test.txt").texts


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[object]:
    store = pytest.importorskip("plant_plugin.serving.desk.store", reason="needs the extra: plant-plugin[serve]")
    made = store.Desk(tmp_path / "desk.sqlite", make=True)
    yield made
    made.close()


@pytest.fixture
def serve() -> Iterator[Any]:
    """Start a server without a model, which ends with the test."""
    pytest.importorskip("fastapi", reason="needs the extra: pip install 'plant-plugin[serve]'")
    from quick_server import QUICK, Model
    from running_server import Running

    from plant_plugin.serving.access import Limits
    from plant_plugin.serving.app import create_app

    running: list[Running] = []

    def start(limits: Limits = QUICK, model: Model | None = None, **options: Any) -> Running:
        running.append(Running(create_app(model or Model(), limits, **options), limits))  # type: ignore[arg-type]
        return running[-1].__enter__()

    yield start
    for server in running:
        server.__exit__()
