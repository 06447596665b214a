from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from plant_plugin.cli import plant
from plant_plugin.data.demo import SPLITS, DemoOptions, demo_file
from plant_plugin.errors import ConfigError
from plant_plugin.prepare.demo import prepare_demo, sized


def test_the_built_in_size_is_the_built_in_data() -> None:
    assert sized(2800, 300, 20240607) == DemoOptions()


def test_the_same_notes_as_the_built_in_ones(tmp_path: Path) -> None:
    told = prepare_demo(tmp_path / "out", 56, 40, 7, dry_run=True)
    assert not (tmp_path / "out").exists()
    made = prepare_demo(tmp_path / "out", 56, 40, 7)
    assert told == made
    assert made["counts"] == {"train": 40, "valid": 6, "test": 10, "labels": made["counts"]["labels"]}
    assert 20 < made["counts"]["labels"] <= 40
    for split in SPLITS:
        built_in = demo_file(split, tmp_path / "cache", sized(56, 40, 7))
        assert (tmp_path / "out" / f"{split}.txt").read_bytes() == built_in.read_bytes()
    assert json.loads((tmp_path / "out" / "provenance.json").read_text())["options"]["seed"] == 7


def test_the_command(tmp_path: Path) -> None:
    for name, seed in (("one", "1"), ("two", "1"), ("three", "2")):
        where = ["--out", str(tmp_path / name), "--documents", "28", "--labels", "10", "--seed", seed]
        done = CliRunner().invoke(plant, ["prepare", "demo", *where])
        assert done.exit_code == 0, done.output
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes()
    assert (tmp_path / "one" / "train.txt").read_bytes() != (tmp_path / "three" / "train.txt").read_bytes()


def test_more_labels_than_codes(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="5,000 labels, but there are 4,1"):
        prepare_demo(tmp_path / "out", 28, 5000, 1)
    assert not (tmp_path / "out").exists()
