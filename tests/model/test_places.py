"""A model by its name, which an installed package brings."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from plant_plugin import Predictor
from plant_plugin.cli import plant
from plant_plugin.model.places import PACKAGE, model_folder, named_models

TEXT = "filler1 sign3x"
ASKED = ["--device", "cpu", "--top", "2", "--input", "text"]


@pytest.fixture
def installed(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    package = tmp_path / "site" / PACKAGE
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise AssertionError('nothing of it is run')\n")
    (package / "no_model").mkdir()
    shutil.copytree(trained, package / "made-up")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    monkeypatch.chdir(tmp_path)
    return package


def test_a_name_is_a_model_like_its_folder(installed: Path) -> None:
    assert named_models() == {"made-up": installed / "made-up"}
    told = [
        CliRunner().invoke(plant, ["predict", model, *ASKED], TEXT) for model in ("made-up", str(installed / "made-up"))
    ]
    assert [one.exit_code for one in told] == [0, 0]
    assert told[0].stdout == told[1].stdout
    assert Predictor.from_pretrained("made-up", device="cpu").labels == Predictor.load(installed / "made-up").labels
    explained = CliRunner().invoke(plant, ["explain", "made-up", "--device", "cpu"], TEXT)
    assert explained.exit_code == 0, explained.output
    for number, model in enumerate(("made-up", "0.zip", "1.zip")):  # a model by name, and then by its file
        exported = CliRunner().invoke(plant, ["export", model, "--out", f"{number}.zip"])
        assert exported.exit_code == 0, exported.output


def test_a_model_by_name_has_no_documents_to_go_on_from(installed: Path, tmp_path: Path) -> None:
    (installed / "made-up" / "logs.json").unlink()  # as `plant export` leaves it
    (tmp_path / "new.txt").write_text("L1\tfiller1\n")
    refused = CliRunner().invoke(plant, ["train", "--from", "made-up", "new.txt"])
    assert refused.exit_code == 2
    assert "the log of the run does not hold its configuration" in refused.output
    assert "take the folder that training wrote" in refused.output


def test_what_is_there_goes_before_a_name(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "made-up").mkdir()
    assert model_folder(Path("made-up")) == Path("made-up")
    done = CliRunner().invoke(plant, ["predict", "made-up", *ASKED], TEXT)
    assert done.exit_code == 2
    assert "no complete PLANT model is here" in done.output


def test_without_the_package_a_name_is_a_folder_that_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("plant_plugin.model.places.PACKAGE", "plant_plugin_models_that_are_nowhere")
    assert named_models() == {}
    done = CliRunner().invoke(plant, ["predict", "made-up", *ASKED], TEXT)
    assert done.exit_code == 2
    assert "or a model of plant-plugin-models" in done.output


MODELS = Path(__file__).resolve().parents[2] / "benchmarks" / "models"


@pytest.mark.parametrize(
    ("name", "text", "labels"),
    [
        ("codiesp-es", "Mujer con hipertensión arterial y diabetes mellitus tipo 2.", {"I10", "E11.9"}),
        ("bc5cdr-en", "Carbamazepine induced agranulocytosis in a patient.", {"MESH:D002220", "MESH:D000380"}),
    ],
)  # fmt: skip
def test_the_models_of_plant_plugin_models(
    name: str, text: str, labels: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(MODELS))
    folder = named_models()[name]
    assert sum(path.stat().st_size for path in folder.iterdir()) < 8_000_000
    assert all(
        word in (folder / "README.md").read_text(encoding="utf-8") for word in ("license:", "## Origin", "| MAP |")
    )
    done = CliRunner().invoke(plant, ["predict", name, "--device", "cpu", "--input", "text"], text)
    found = {label["label"]: label.get("name") for label in json.loads(done.stdout)["labels"]}
    assert labels <= found.keys()
    assert all(found.values())


def test_the_case_of_the_readme(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(MODELS))
    readme = (MODELS.parents[1] / "README.md").read_text(encoding="utf-8")
    case = readme.partition("We wrote this case.")[2].partition("## Features")[0]
    text = " ".join(re.findall(r"^> (.*)$", case, re.MULTILINE))
    told = dict(re.findall(r"([A-Z]\d[\d.]+) \*([^*]+)\*", case.replace("\n", " ")))
    explained = Predictor.from_pretrained("codiesp-es", device="cpu").explain(text)
    assert {
        label.scored.label: text[label.passages[0].start : label.passages[0].end] for label in explained.labels
    } == told
