"""``plant label``: what a model knows of a label."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from made_up_task import made_config, write_splits

from plant_plugin.cli import plant
from plant_plugin.training.run import run


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("label")
    write_splits(folder)
    config = made_config(folder, strategy="planted_scores", planted_scores__model="ridge")
    run(config)
    return Path(config.checkpoint_dir)


def test_its_documents_are_counted_as_one_would_say_it(model: Path) -> None:
    shown = CliRunner().invoke(plant, ["label", str(model), "L3", "--device", "cpu"])
    assert shown.exit_code == 0, shown.output
    assert " of 120 training documents\n" in shown.output
    assert " validation document; F1 there: " in shown.output
    assert "sign3x" in shown.output
    found = json.loads(CliRunner().invoke(plant, ["label", str(model), "L3", "--json", "--device", "cpu"]).output)
    assert found["terms"][0][0] == "sign3x"
