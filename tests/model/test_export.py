"""``plant export`` of a whole network, and ``from_pretrained``."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
from click.testing import CliRunner
from exporting import export

from plant_plugin import Predictor
from plant_plugin.cli import plant

TEXTS = ["filler1 sign3x", "sign5x sign5x filler2", ""]


def test_it_predicts_and_explains_the_same(trained: Path, exported: Path) -> None:
    before = Predictor.load(trained, device="cpu")
    after = Predictor.from_pretrained(exported, device="cpu")
    np.testing.assert_array_equal(after.logits(TEXTS), before.logits(TEXTS))
    assert after.thresholds == before.thresholds
    one, other = (model.explain(TEXTS[0], top=1).labels[0] for model in (before, after))
    np.testing.assert_array_equal(one.contribution, other.contribution)
    np.testing.assert_array_equal(one.relevance, other.relevance)


def test_a_language_is_a_code(trained: Path, tmp_path: Path) -> None:
    done = export(trained, tmp_path / "out", "--language", "English")
    assert done.exit_code
    assert "'English' is no code of a language" in done.output
    assert not (tmp_path / "out").exists()


def test_commands_take_it_as_a_run_folder(trained: Path, exported: Path) -> None:
    for command in ("predict", "explain"):
        told = [
            CliRunner().invoke(
                plant, [command, str(folder), "--device", "cpu", "--top", "2", "--input", "text"], TEXTS[0]
            )
            for folder in (trained, exported)
        ]
        assert [one.exit_code for one in told] == [0, 0]
        assert (
            told[0].stdout.splitlines()[command == "explain" :] == told[1].stdout.splitlines()[command == "explain" :]
        )


def test_nothing_of_the_run_comes_with_it(exported: Path) -> None:
    names = {path.name for path in exported.iterdir()}
    assert {"model.safetensors", "config.json", "labels.txt", "README.md", "manifest.json"} <= names
    assert not names & {"logs.json", "result.json", "per_document.npz", "predictions.txt", "settled.yml"}


def test_nothing_torn_is_handed_on(trained: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(trained, tmp_path / "run")
    (folder / "labels.txt").write_text("L1\n", encoding="utf-8")
    assert export(folder, tmp_path / "out").exit_code == 2
    assert not (tmp_path / "out").exists()
