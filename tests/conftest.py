"""Fixtures for every test. Nothing heavy here: this file is imported by each worker."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

# Each worker has a core of its own, and a process that is forked while torch holds threads hangs. torch reads this when
# it is imported, which the conftest.py of a folder may do before any hook is called.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# No test cuts the power: what was written is there, and who counts these calls still sees them.
os.fsync = lambda number: None
# What a test process imports stays: to look through all of it for garbage, as Lightning, LibMultiLabel and Python
# itself do now and then, takes a second each time.
gc.disable()


# Rooms that compile nothing, or little.
LIGHT = {"config", "data", "evaluation", "prepare", "report"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Light rooms come last: there the second worker begins, and what the first has compiled lies there by then.

    numba keeps it beside the modules; in a fresh checkout both would compile the same for half a minute. Tests on Ray
    lie between, all together, so that one worker starts it.
    """

    def place(item: pytest.Item) -> int:
        folder = item.path.parent
        if "two_workers" in getattr(item, "fixturenames", ()):
            return 1
        return 2 if folder.name == "tests" or not LIGHT.isdisjoint(folder.parts[-2:]) else 0  # a room may have folders

    items.sort(key=place)


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with real data and reference values: ``$PLANT_SHARED``, or ``shared`` beside the repository."""
    folder = Path(os.environ.get("PLANT_SHARED") or Path(__file__).resolve().parents[2] / "shared")
    if not folder.is_dir():
        pytest.skip(
            "needs the folder of reference values: set PLANT_SHARED or put it beside the repository as `shared`"
        )
    return folder


@pytest.fixture(scope="session")
def two_workers() -> Iterator[None]:
    """Ray with two workers, started once: it takes seconds."""
    pytest.importorskip("ray", reason="needs the extra `ray`")
    from plant_plugin.relevance.cluster import cluster

    with cluster("local", cores=2):
        yield


@pytest.fixture(autouse=True, scope="module")
def what_was_imported_is_not_looked_through() -> None:
    """Nor what the tests of the last module imported."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def no_registry_of_another_test() -> Iterator[None]:
    """What a test told the process of registries of its own ends with it."""
    from plant_plugin.config import registry

    yield
    if registry._USED:
        registry._USED.clear()
        registry._read.cache_clear()


def pytest_configure(config: pytest.Config) -> None:
    """Without ``-m gpu`` no GPU is seen, and Triton's kernels run in its interpreter: both are read once, on import."""
    if "gpu" not in config.option.markexpr.replace("not gpu", ""):
        os.environ.setdefault("TRITON_INTERPRET", "1")
        os.environ["CUDA_VISIBLE_DEVICES"] = ""  # expected numbers are a processor's
