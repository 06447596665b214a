"""Import paths from before the package had rooms."""

from __future__ import annotations

import importlib
import sys

import pytest


@pytest.mark.parametrize(
    ("old", "name", "new"),
    [
        ("plant_plugin.run", "run", "plant_plugin.training.run"),
        ("plant_plugin.prediction.predictor", "Predictor", "plant_plugin.model.predictor"),
        ("plant_plugin.data.libmultilabel_txt", "read_libmultilabel_text", "plant_plugin.data.text"),
        ("plant_plugin.report.scored", "Scored", "plant_plugin.report.result"),
        ("plant_plugin.evaluation.significance", "compare_documents", "plant_plugin.evaluation.resampling"),
        ("plant_plugin.options", "Stage1Options", "plant_plugin.config.options"),
        ("plant_plugin.losses.focal", "focal_loss", "plant_plugin.networks.losses"),
    ],
)
def test_an_old_path_gives_the_same_thing_and_says_where_it_is_now(old: str, name: str, new: str) -> None:
    sys.modules.pop(old, None)
    with pytest.warns(DeprecationWarning, match=f"{old} is {new} now"):
        module = importlib.import_module(old)
    assert getattr(module, name) is getattr(importlib.import_module(new), name)


def test_what_never_was_there_is_still_missing() -> None:
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("plant_plugin.runs")
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("plant_plugin.prediction.no_such")
