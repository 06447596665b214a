"""The card of a model that is given away."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import yaml
from exporting import export


def test_the_card_says_what_it_reached(exported: Path, trained: Path) -> None:
    card = (exported / "README.md").read_text(encoding="utf-8")
    _, head, body = card.split("---\n", 2)
    assert yaml.safe_load(head) == {
        "library_name": "plant-plugin", "pipeline_tag": "text-classification",
        "tags": ["multi-label-classification", "plant"], "language": ["en"],
    }  # fmt: skip
    metrics = yaml.safe_load((trained / "result.json").read_text())["metrics"]
    assert f"| P@1 | {100 * metrics['P@1']:.2f} |" in body
    for heading in ("## Intended use", "## Data and metrics", "## Probabilities", "## Limits"):
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


def test_the_card_says_how_far_probabilities_are_right(exported: Path, trained: Path, tmp_path: Path) -> None:
    calibration = json.loads((trained / "result.json").read_text(encoding="utf-8"))["calibration"]
    card = (exported / "README.md").read_text(encoding="utf-8")
    assert f"is {100 * calibration['ECE']:.2f} % of all pairs" in card
    for part in calibration["curve"]:
        assert f"| {part['below']:.1f} | {part['pairs']:,} | {100 * part['probability']:.2f} |" in card
    folder = shutil.copytree(trained, tmp_path / "run")
    result = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    del result["calibration"]  # written by an older version
    (folder / "result.json").write_text(json.dumps(result), encoding="utf-8")
    assert export(folder, tmp_path / "out").exit_code == 0
    assert "was not measured" in (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
