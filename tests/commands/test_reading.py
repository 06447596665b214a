"""One separator for a run, and the same flags for every command that reads a user's file."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from plant_plugin.cli import plant
from plant_plugin.commands.reading import FLAGS
from plant_plugin.config.sections import OPTIONS

FOOD, HEALTH = "food safety", "public health"
READERS = (
    "stats", "embeddings", "predict", "explain", "faithfulness", "plausibility", "evaluate", "strip",
    "desk add-documents",
)  # fmt: skip


def table(path: Path, rows: list[tuple[str, str]], header: str = "text,labels") -> Path:
    path.write_text("\n".join([header, *(f"{text},{labels}" for text, labels in rows)]) + "\n", encoding="utf-8")
    return path


def run(*arguments: object) -> Result:
    return CliRunner().invoke(plant, [*map(str, arguments)])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Training labels that semicolons separate; test labels all alone, each of two words."""
    folder = tmp_path_factory.mktemp("separators")
    rows = [("kitchen knife cut", f"{FOOD};{HEALTH}"), ("clinic ward visit", HEALTH), ("oven kitchen meal", FOOD)]
    table(folder / "train.csv", rows * 10)
    table(folder / "test.csv", [("ward clinic visit", HEALTH), ("meal oven", FOOD)] * 3)
    return folder


@pytest.fixture(scope="module")
def model(folder: Path) -> Path:
    done = run("train", folder / "train.csv", "--test_file", folder / "test.csv", "--strategy", "planted_scores",
               "--result_dir", folder / "runs", "--cache_dir", folder / "cache", "--val_size", 6)  # fmt: skip
    assert done.exit_code == 0, done.output
    [made] = (folder / "runs").iterdir()
    return made


def labels_of(folder: Path) -> set[str]:
    return set((folder / "labels.txt").read_text().split())


def test_training_and_its_test_file(model: Path) -> None:
    assert labels_of(model) == {"food_safety", "public_health"}
    counts = json.loads((model / "result.json").read_text())["counts"]
    assert counts["dropped_labels"] == counts["labels_unseen_in_training"] == 0


def test_a_test_of_a_model_without_its_training_file(model: Path, folder: Path, tmp_path: Path) -> None:
    from plant_plugin.config import load_config
    from plant_plugin.training.run import run as train

    keys = {"eval": True, "checkpoint_path": str(model), "test_file": str(folder / "test.csv"), "model_name": "PLANT",
            "network_config": {"encoder": "cnn"}, "strategy": "planted_scores", "result_dir": str(tmp_path),
            "planted_scores": {"model": "ridge"}, "monitor_metrics": ["P@1"],
            "cache_dir": str(tmp_path / "c")}  # fmt: skip
    assert train(load_config(None, keys))["counts"]["dropped_labels"] == 0


def test_stats(folder: Path) -> None:
    done = run("stats", folder / "train.csv", folder / "test.csv", "--json")
    train, test = json.loads(done.stdout)["files"]
    assert (test["labels"], test["labels unseen in training"]) == (2, 0)
    assert train["labels in a text"] == test["labels in a text"] == "separated by semicolons"


def test_evaluate(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "scores.txt").write_text("public_health:0.9\nfood_safety:0.9\n" * 3)
    arguments = ["evaluate", "--truth", folder / "test.csv", "--scores", tmp_path / "scores.txt"]
    done = run(*arguments, "--train", folder / "train.csv", "--out", tmp_path / "r.json")
    assert done.exit_code == 0, done.output
    assert json.loads((tmp_path / "r.json").read_text())["metrics"]["P@1"] == 1
    (tmp_path / "labels.txt").write_text("food_safety\npublic_health\n")
    done = run(*arguments, "--label-file", tmp_path / "labels.txt", "--out", tmp_path / "l.json")
    assert json.loads((tmp_path / "l.json").read_text())["metrics"]["P@1"] == 1, done.output


def test_new_documents_of_a_model_and_those_after_them(model: Path, folder: Path, tmp_path: Path) -> None:
    new = table(tmp_path / "new.csv", [("spoon meal", FOOD), ("nurse ward", HEALTH)], "note,codes")
    flags = ["--text_column", "note", "--labels_column", "codes", "--silent", "--cache_dir", tmp_path / "c"]
    for number in (1, 2):  # documents of the second training before it are text, whose labels spaces separate
        runs = tmp_path / f"runs{number}"
        done = run("train", new, "--from", model, *flags, "--result_dir", runs)
        assert done.exit_code == 0, done.output
        [model] = runs.iterdir()
        assert labels_of(model) == {"food_safety", "public_health"}
        assert json.loads((model / "result.json").read_text())["counts"]["dropped_labels"] == 0
        new = table(tmp_path / "again.csv", [("fork meal", FOOD), ("doctor ward", HEALTH)], "note,codes")


def test_a_linear_model_of_libmultilabel(folder: Path, tmp_path: Path) -> None:
    from plant_plugin.config import load_config
    from plant_plugin.host.text_files import files_as_text

    keys = {"linear": True, "training_file": str(folder / "train.csv"), "test_file": str(folder / "test.csv"),
            "cache_dir": str(tmp_path)}  # fmt: skip
    written = files_as_text(load_config(None, keys))
    assert Path(str(written["test_file"])).read_text().splitlines()[0] == "public_health\tward clinic visit"


@pytest.mark.parametrize("labels", ["food|health", "['food', 'health']"])
def test_a_file_that_disagrees_is_an_error(folder: Path, tmp_path: Path, labels: str) -> None:
    other = table(tmp_path / "other.csv", [("a b c", f'"{labels}"')] * 3)
    done = run("stats", folder / "train.csv", other)
    assert done.exit_code == 2
    assert "other.csv" in done.output
    assert "semicolons" in done.output


def command_of(names: str) -> click.Command:
    command: click.Command = plant
    for name in names.split():
        assert isinstance(command, click.Group)
        found = command.get_command(click.Context(command), name)
        assert found is not None
        command = found
    return command


@pytest.mark.parametrize("names", READERS)
def test_every_command_that_reads_a_file_has_the_flags(names: str) -> None:
    options = {option for parameter in command_of(names).params for option in parameter.opts}
    assert {f"--{flag}" for flag in FLAGS} <= options


def test_training_has_them_as_keys() -> None:
    assert FLAGS.keys() - OPTIONS.keys() == {"id_column"}


def test_another_encoding_and_columns(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes("note;codes\nMüdigkeit heute;R53\nÜbelkeit;R11\n".encode("cp1252"))
    flags = ["--text_column", "note", "--labels_column", "codes", "--encoding", "cp1252"]
    assert run("stats", path, *flags, "--json").exit_code == 0
    pytest.importorskip("sqlalchemy", reason="needs the extra: pip install 'plant-plugin[serve]'")
    desk = tmp_path / "desk.sqlite"
    run("desk", "add-coder", desk, "ana")
    done = run("desk", "add-documents", desk, path, "--coded-by", "ana", *flags)
    assert "2 documents added" in done.output
    assert "there is no encoding 'klingon'" in run("stats", path, "--encoding", "klingon").output
