"""From decisions to training files and to other tools."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from made_up_task import made_config

pytest.importorskip("sqlalchemy", reason="needs the extra: pip install 'plant-plugin[serve]'")
from desk_coding import coder

from plant_plugin.cli import plant
from plant_plugin.data.evidence import read_evidence
from plant_plugin.data.tables import read_any
from plant_plugin.files import sha256
from plant_plugin.serving.desk.store import Desk


def run(*arguments: object) -> Result:
    return CliRunner().invoke(plant, ["desk", *map(str, arguments)])


def test_the_majority_and_a_leads_word_are_exported_with_evidence(coded: Desk, tmp_path: Path) -> None:
    done = run("export", coded.path, "--out", tmp_path / "out")
    assert done.exit_code == 0, done.output
    read = read_any(tmp_path / "out" / "train.txt")
    assert read.texts == ["Fever and cough since Monday, a rash too", "fever only"]
    assert [sorted(labels) for labels in read.labels] == [["R05"], ["R50"]]  # R50 and Z99.9: one of two
    evidence = read_evidence(tmp_path / "out" / "train_evidence.tsv", read)
    assert [read.texts[0][slice(*span)] for span in evidence[0]["R05"]] == ["cough"]
    assert evidence[1] == {"R50": [(0, 5)]}
    provenance = json.loads((tmp_path / "out" / "provenance.json").read_text())
    assert provenance["counts"]["codes_left_out_because_coders_are_split"] == 2


def test_a_training_plants_from_an_export(desk: Desk, marked_task: Path, tmp_path: Path) -> None:
    who = coder(desk, "ana")
    done = run("add-documents", desk.path, marked_task / "train.txt", "--coded-by", who.name)
    assert done.exit_code == 0, done.output
    assert "90 documents added" in done.output
    assert "0 documents added, 90 there before" in run("add-documents", desk.path, marked_task / "train.txt").output
    refused = run("add-documents", desk.path, marked_task / "train.txt", "--coded-by", who.name, "--input", "jsonl")
    assert "--input: --coded-by reads a file to train on, by its ending" in refused.output
    assert run("export", desk.path, "--out", tmp_path / "train").exit_code == 0
    sent, came = (read_any(folder / "train.txt") for folder in (marked_task, tmp_path / "train"))
    assert came.texts == sent.texts
    assert [set(labels) for labels in came.labels] == [set(labels) for labels in sent.labels]
    marks = [read_evidence(folder / "train_evidence.tsv", sent) for folder in (marked_task, tmp_path / "train")]
    assert marks[0] == marks[1]
    from plant_plugin.report.logs import logged_config
    from plant_plugin.training.run import run as train

    config = made_config(
        marked_task, training_file=str(tmp_path / "train" / "train.txt"), result_dir=str(tmp_path / "runs"),
        evidence__training_file=str(tmp_path / "train" / "train_evidence.tsv"), stage1__epochs=1, stage2__epochs=1,
        planted_scores__model="ridge",
    )  # fmt: skip
    train(config)
    assert logged_config(Path(config.checkpoint_dir))["evidence"]["training_file"].endswith("train_evidence.tsv")
    assert (Path(config.checkpoint_dir) / "model.safetensors").is_file()


@pytest.mark.parametrize("form", ["labelstudio", "brat"])
def test_other_tools_read_an_export_and_it_comes_back(coded: Desk, tmp_path: Path, form: str) -> None:
    done = run("export", coded.path, "--out", tmp_path / form, "--form", form)
    assert done.exit_code == 0, done.output
    back = CliRunner().invoke(plant, ["prepare", form, "--raw", str(tmp_path / form), "--out", str(tmp_path / "back")])
    assert back.exit_code == 0, back.output
    read = read_any(tmp_path / "back" / "train.txt")
    assert [sorted(labels) for labels in read.labels] == [["R05"], ["R50"]]
    evidence = read_evidence(tmp_path / "back" / "train_evidence.tsv", read)
    assert [read.texts[0][slice(*span)] for span in evidence[0]["R05"]] == ["cough"]
    again = run("add-documents", coded.path, tmp_path / "back" / "train.txt", "--coded-by", "ana")
    assert again.exit_code == 0, again.output


@pytest.mark.parametrize("form", ["libmultilabel", "labelstudio", "brat"])
def test_the_provenance_lists_every_other_file(coded: Desk, tmp_path: Path, form: str) -> None:
    for _ in range(2):  # also where it was written before
        assert run("export", coded.path, "--out", tmp_path / "out", "--form", form).exit_code == 0
        named = {one["name"]: one for one in json.loads((tmp_path / "out" / "provenance.json").read_text())["files"]}
        there = {path.name: path for path in (tmp_path / "out").iterdir() if path.name != "provenance.json"}
        assert "documents.tsv" in there
        assert {name: one["sha256"] for name, one in named.items()} == {
            name: sha256(path) for name, path in there.items()
        }
