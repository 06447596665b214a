"""Suggestions of a model."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("sqlalchemy", reason="needs the extra: pip install 'plant-plugin[serve]'")
from plant_plugin.serving.desk.suggestions import entropies


def test_entropy_is_the_formula() -> None:
    logits = np.array([[0.0, 2.0, -3.0], [500.0, -500.0, 0.0]], dtype=np.float32)
    probability = 1 / (1 + np.exp(-logits[0].astype(float)))
    literal = -(probability * np.log(probability) + (1 - probability) * np.log(1 - probability)).sum()
    assert entropies(logits) == pytest.approx([literal, np.log(2)])
