"""``plant export`` of a whole network, and ``from_pretrained``."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import yaml
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


def test_the_card_says_what_it_reached(exported: Path, trained: Path) -> None:
    card = (exported / "README.md").read_text(encoding="utf-8")
    _, head, body = card.split("---\n", 2)
    assert yaml.safe_load(head) == {
        "library_name": "plant-plugin", "pipeline_tag": "text-classification",
        "tags": ["multi-label-classification", "plant"], "language": ["en"],
    }  # fmt: skip
    metrics = yaml.safe_load((trained / "result.json").read_text())["metrics"]
    assert f"| P@1 | {100 * metrics['P@1']:.2f} |" in body
    for heading in ("## Intended use", "## Data and metrics", "## Limits"):
        assert heading in body
    assert str(trained.parent) not in card
    assert "sign3x" not in card


def test_a_run_that_was_not_tested_has_a_card_that_says_so(trained: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(trained, tmp_path / "run")
    (folder / "result.json").unlink()
    assert export(folder, tmp_path / "out").exit_code == 0
    card = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert "has not been tested" in card
    assert "Languages of the texts: not stated" in card
