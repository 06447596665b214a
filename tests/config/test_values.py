from __future__ import annotations

from typing import Any

import pytest
from configurations import plant


@pytest.mark.parametrize(
    ("key", "value", "read"),
    [
        ("shuffle", "False", False),
        ("add_special_tokens", "no", False),
        ("silent", "true", True),
        ("learning_rate", "2e-5", 2e-5),
        ("learning_rate", 1, 1),
        ("val_size", 100, 100),
        ("epochs", 3.0, 3),
        ("precision", 32, "32"),
        ("data_name", 2024, "2024"),
        ("monitor_metrics", "P@5", ["P@5", "P@1"]),
        ("monitor_metrics", ("P@1", "Macro-F1@.50:1-5"), ["P@1", "Macro-F1@.50:1-5"]),
        ("seed", None, None),
        ("predict_out_path", None, None),
    ],
)
def test_values_mean_what_they_say(key: str, value: Any, read: Any) -> None:
    config = plant(**{key: value})
    assert config.as_dict()[key] == read
    assert type(config.as_dict()[key]) is type(read)
