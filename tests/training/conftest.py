"""Configurations on the made-up task."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from made_up_task import made_config, write_language_model, write_splits

from plant_plugin.config import Config


@pytest.fixture
def made(tmp_path: Path) -> Callable[..., Config]:
    """Builds a configuration on made-up files; keyword arguments override keys (dots as ``__``)."""
    write_splits(tmp_path)
    return partial(made_config, tmp_path)


@pytest.fixture
def tiny_language_model(made: Callable[..., Config], tmp_path: Path) -> Path:
    """A tokenizer of the made-up training file and a BERT of one layer."""
    return write_language_model(tmp_path)
