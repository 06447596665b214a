"""``plant predict --promise`` and ``--accept``."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from plant_plugin.cli import plant
from plant_plugin.model.manifest import THRESHOLDS, renew
from plant_plugin.report.promises import PROMISES


def invoke(*arguments: object) -> Result:
    return CliRunner().invoke(plant, ["predict", *map(str, arguments)])


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trained")
    rows = "".join(f"{label}\t{text}\n" for label, text in (("A", "fever cough"), ("B", "ankle cast"), ("A", "fever")))
    (folder / "train.txt").write_text(rows * 10, encoding="utf-8")
    flags = [
        "--strategy",
        "planted_scores",
        "--result_dir",
        folder / "runs",
        "--cache_dir",
        folder / "cache",
        "--val_size",
        6,
    ]
    done = CliRunner().invoke(plant, ["train", *map(str, (folder / "train.txt", *flags))])
    assert done.exit_code == 0, done.output
    [made] = (folder / "runs").iterdir()
    return made


@pytest.fixture
def model(trained: Path, tmp_path: Path) -> Path:
    """A trained model that promises 0.9 and accepts 0.98, and cannot promise more."""
    folder = tmp_path / "model"
    shutil.copytree(trained, folder)
    thresholds = json.loads((folder / THRESHOLDS).read_text())
    thresholds = {name: value for name, value in thresholds.items() if " " not in name}
    (folder / THRESHOLDS).write_text(json.dumps({**thresholds, "promise 0.9": -1.5, "accept 0.98": 2.5}))
    renew(folder, THRESHOLDS)
    promised = {"promise 0.9": {"documents": 40, "listed": 0.91, "labels": 4.25}}
    unmet = {"promise 0.95": {"documents": 40, "most": 0.93}, "promise 0.98": {"documents": 40, "needs": 49}}
    outcomes = {"val": promised | unmet, "test": {"promise 0.9": {"listed": 0.89, "labels": 4.5}}}
    (folder / PROMISES).write_text(json.dumps(outcomes))
    (tmp_path / "texts.txt").write_text("fever cough\nankle\n")
    return folder


def test_labels_are_listed_down_to_the_threshold_and_what_is_promised_is_told(model: Path, tmp_path: Path) -> None:
    outcome = invoke(model, tmp_path / "texts.txt", "--promise", "0.90")
    assert outcome.exit_code == 0, outcome.output
    assert "90% of a document's true labels are listed" in outcome.stderr
    assert "val: 91.0%, 4.2 labels a document" in outcome.stderr
    assert "test: 89.0%, 4.5 labels a document" in outcome.stderr
    assert outcome.stdout == invoke(model, tmp_path / "texts.txt", "--threshold", "promise 0.9").stdout
    accepted = invoke(model, tmp_path / "texts.txt", "--accept", "0.98")
    assert accepted.stdout == invoke(model, tmp_path / "texts.txt", "--threshold", "accept 0.98").stdout
    assert "98% of the labels that are listed are true" in accepted.stderr


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--promise", "0.95"], "no threshold reaches more than 93.0%"),
        (["--promise", "0.98"], "at least 49 validation documents"),
        (["--accept", "0.9"], "without validation documents or before promises were made"),
        (["--promise", "0.97"], "take one of 0.5, 0.6"),
        (["--promise", "0.9", "--top", "3"], "promise and top both say how many"),
        (["--promise", "0.9", "--threshold", "micro"], "promise and threshold both say"),
        (["--promise", "0.9", "--accept", "0.9"], "accept and promise both say"),
    ],
)
def test_what_is_refused(model: Path, tmp_path: Path, flags: list[str], message: str) -> None:
    outcome = invoke(model, tmp_path / "texts.txt", *flags)
    assert outcome.exit_code == 2
    assert message in outcome.output
    assert not outcome.stdout


def test_an_output_that_was_begun_goes_on_by_the_same_promise_only(model: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    from plant_plugin.commands.growing import Growing

    begun = []
    of = Growing.of
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Growing, "of", lambda *given, **named: begun.append(of(*given, **named)) or begun[-1])
        for flags in (["--promise", "0.9"], ["--accept", "0.98"], ["--threshold", "promise 0.9"]):
            assert invoke(model, tmp_path / "texts.txt", "--out", out, *flags).exit_code == 0
    first, other, same = (growing.state["decides"] for growing in begun)
    assert first == same != other
