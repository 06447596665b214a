"""``plant export`` of a whole network, and ``from_pretrained``."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest
import yaml
from click.testing import CliRunner, Result

from plant_plugin import Predictor
from plant_plugin.cli import plant
from plant_plugin.errors import CheckpointError

TEXTS = ["filler1 sign3x", "sign5x sign5x filler2", ""]


def export(folder: Path, out: Path, *more: str) -> Result:
    return CliRunner().invoke(plant, ["export", str(folder), "--out", str(out), *more])


@pytest.fixture(scope="module")
def exported(trained: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("hub") / "model"
    done = export(trained, out, "--language", "en")
    assert done.exit_code == 0, done.output
    return out


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


def test_nothing_torn_is_handed_on(trained: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(trained, tmp_path / "run")
    (folder / "labels.txt").write_text("L1\n", encoding="utf-8")
    assert export(folder, tmp_path / "out").exit_code == 2
    assert not (tmp_path / "out").exists()


@pytest.fixture(scope="module")
def one_file(trained: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("file") / "model.zip"
    done = export(trained, out, "--language", "en")
    assert done.exit_code == 0, done.output
    return out


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "plant_plugin" / "models"


def test_one_file_predicts_the_same(trained: Path, exported: Path, one_file: Path, cache: Path) -> None:
    assert [path.name for path in one_file.parent.iterdir()] == ["model.zip"]
    with zipfile.ZipFile(one_file) as archive:
        assert set(archive.namelist()) == {
            path.relative_to(exported).as_posix() for path in exported.rglob("*") if path.is_file()
        }
    before, after = (Predictor.from_pretrained(path, device="cpu") for path in (trained, one_file))
    np.testing.assert_array_equal(after.logits(TEXTS), before.logits(TEXTS))
    assert after.thresholds == before.thresholds
    assert after.name == "model"
    (unpacked,) = cache.iterdir()
    made = (unpacked / "model" / "config.json").stat().st_mtime_ns
    Predictor.from_pretrained(one_file, device="cpu")
    assert (unpacked / "model" / "config.json").stat().st_mtime_ns == made  # unpacked once


def test_commands_take_one_file(trained: Path, one_file: Path, cache: Path) -> None:
    flags = ["--device", "cpu", "--top", "2", "--input", "text"]
    told = [CliRunner().invoke(plant, ["predict", str(model), *flags], TEXTS[0]) for model in (trained, one_file)]
    assert [one.exit_code for one in told] == [0, 0]
    assert told[0].stdout == told[1].stdout


def test_what_was_unpacked_and_changed_is_seen(one_file: Path, cache: Path) -> None:
    Predictor.from_pretrained(one_file, device="cpu")
    (labels,) = cache.glob("*/model/labels.txt")
    labels.unlink()
    Predictor.from_pretrained(one_file, device="cpu")  # unpacked again
    labels.write_text("L1\n", encoding="utf-8")
    with pytest.raises(CheckpointError, match="changed since the model was saved"):
        Predictor.from_pretrained(one_file, device="cpu")


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("../outside.txt", "no file of a model"),
        ("/outside.txt", "no file of a model"),
        ("backbone/../../outside.txt", "no file of a model"),
        ("backbone/..\\..\\outside.txt", "no file of a model"),
        ("backbone//outside.txt", "no file of a model"),
        ("C:outside.txt", "no file of a model"),
        ("backbone/", "no file of a model"),
        ("code.py", "no file of a model"),
        ("LABELS.txt", "no file of a model"),
        ("labels.txt", "over each other"),
        ("backbone/a/b", "over each other"),
    ],
)
def test_a_file_of_a_stranger_writes_nothing_elsewhere(
    one_file: Path, cache: Path, tmp_path: Path, name: str, told: str
) -> None:
    path = Path(shutil.copy(one_file, tmp_path / "model.zip"))
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("backbone/a", "text")
        archive.writestr(zipfile.ZipInfo(name), "text")
    with pytest.raises(CheckpointError, match=told):
        Predictor.from_pretrained(path, device="cpu")
    assert [found.name for found in tmp_path.rglob("*")] == ["model.zip"]


def test_a_file_that_would_grow_or_is_torn_is_refused(one_file: Path, cache: Path, tmp_path: Path) -> None:
    path = Path(shutil.copy(one_file, tmp_path / "model.zip"))
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("backbone/zeros", bytes(1 << 20), zipfile.ZIP_DEFLATED)
    with pytest.raises(CheckpointError, match="compressed"):
        Predictor.from_pretrained(path, device="cpu")
    whole = one_file.read_bytes()
    at = len(whole) // 2
    for torn in (whole[:at], b"", whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :]):
        path.write_bytes(torn)
        with pytest.raises(CheckpointError, match="torn"):
            Predictor.from_pretrained(path, device="cpu")
    empty = tmp_path / "empty.zip"
    zipfile.ZipFile(empty, "w").close()
    with pytest.raises(CheckpointError, match="holds no manifest"):
        Predictor.from_pretrained(empty, device="cpu")
    assert {found.name for found in tmp_path.iterdir() if found.is_file()} == {"model.zip", "empty.zip"}
    assert not list(cache.rglob("config.json"))


def test_a_failed_export_leaves_no_file(trained: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(trained, tmp_path / "run")
    (folder / "labels.txt").write_text("L1\n", encoding="utf-8")
    assert export(folder, tmp_path / "out.zip").exit_code == 2
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_a_repository_is_fetched_from_the_hub(exported: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked = []

    def fetch(name: str) -> str:
        asked.append(name)
        if name == "somebody/else":
            raise FileNotFoundError(name)
        return str(exported)

    monkeypatch.setattr("huggingface_hub.snapshot_download", fetch)
    monkeypatch.chdir(tmp_path)
    assert Predictor.from_pretrained("somebody/model", device="cpu").labels
    with pytest.raises(CheckpointError, match="neither a folder nor a repository"):
        Predictor.from_pretrained("somebody/else")
    with pytest.raises(CheckpointError, match="no complete PLANT model"):
        Predictor.from_pretrained("../some/where/else")
    assert asked == ["somebody/model", "somebody/else"]


def test_a_folder_that_is_not_there_and_no_repository_can_be(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("runs/a--b", "runs/a."):
        with pytest.raises(CheckpointError, match="neither a folder nor a repository"):
            Predictor.from_pretrained(name)
