"""What the page may send."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from plant_plugin.serving.desk.asked import SPANS, DecideQuestion


def test_a_decision_is_confirmed_only_on_demand() -> None:
    body = {"key": "key-00001", "document": 1, "label": "R05", "kind": "add"}
    assert DecideQuestion.model_validate(body).confirmed is False
    for wrong in ({"label": "a b"}, {"kind": "open"}, {"spans": [(0, 1)] * (SPANS + 1)}, {"document": -1}, {"x": 1}):
        with pytest.raises(ValidationError):
            DecideQuestion.model_validate({**body, **wrong})
