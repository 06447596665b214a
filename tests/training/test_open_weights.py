"""How what names say joins a model's logits: tests/training/test_open_labels.py trains such models."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from plant_plugin.training.open_weights import with_open_labels


def test_without_names_nothing_joins() -> None:
    scoring: Any = SimpleNamespace()
    assert with_open_labels(scoring, None, None) is scoring
