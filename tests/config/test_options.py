from __future__ import annotations

from typing import Any

import pytest
from configurations import plant
from pydantic import TypeAdapter

from plant_plugin.config.sections import BLOCKS


@pytest.mark.parametrize(
    ("block", "name", "value", "read"),
    [
        ("stage1", "labels", "256", 256),
        ("stage1", "labels", "all", "all"),
        ("stage1", "learning_rate", "2e-5", 2e-5),
        ("stage1", "epochs", None, None),
        ("stage2", "hard_negatives", None, None),
        ("stage2", "gamma", 2, 2),
        ("relevance", "top", "100", 100),
    ],
)
def test_values_of_blocks(block: str, name: str, value: Any, read: Any) -> None:
    assert TypeAdapter(BLOCKS[block].__dataclass_fields__[name].type).validate_python(value) == read
    assert getattr(getattr(plant(**{f"{block}.{name}": value}), block), name) == read
