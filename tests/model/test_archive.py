"""A model folder as one file, also one that a stranger made."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from exporting import export

from plant_plugin import Predictor
from plant_plugin.cli import plant
from plant_plugin.errors import CheckpointError

TEXTS = ["filler1 sign3x", "sign5x sign5x filler2", ""]


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


@pytest.mark.parametrize("name", ["...zip", "..zip", f"{'a' * 240}.zip"])
def test_no_name_of_a_file_leads_out_of_its_place_in_the_cache(
    one_file: Path, cache: Path, tmp_path: Path, name: str
) -> None:
    other = cache / "other" / "model"
    other.mkdir(parents=True)
    shutil.copyfile(one_file, tmp_path / name)
    assert CliRunner().invoke(plant, ["predict", str(tmp_path / name), "--device", "cpu"], TEXTS[0]).exit_code in (0, 1)
    assert other.is_dir()
    assert all(len(path.name) <= 100 for path in cache.rglob("*"))


def test_a_member_with_a_name_of_5000_characters_is_refused(one_file: Path, cache: Path, tmp_path: Path) -> None:
    shutil.copyfile(one_file, tmp_path / "long.zip")
    with zipfile.ZipFile(tmp_path / "long.zip", "a") as archive:
        archive.writestr(f"tokenizer/{'a' * 5000}.json", "{}")
    with pytest.raises(CheckpointError, match="no file of a model") as refused:
        Predictor.from_pretrained(tmp_path / "long.zip", device="cpu")
    assert len(refused.value.message) < 500
    assert not any(cache.rglob("*.json"))
