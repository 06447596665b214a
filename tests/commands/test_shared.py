"""Shared parts of commands."""

from __future__ import annotations

import json
import math

import pytest

from plant_plugin.commands.shared import as_json
from plant_plugin.model.faithfulness import Faithfulness


def test_json_has_no_word_for_what_is_no_number() -> None:
    of_one = Faithfulness("MIG", 0.25, math.nan, 0.5, math.nan, 1)  # which has no standard error
    [told] = json.loads(as_json([of_one]), parse_constant=pytest.fail)
    assert (told["comprehensiveness"], told["comprehensiveness_error"]) == (0.25, None)
