from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from plant_plugin import Predictor
from plant_plugin.errors import CheckpointError, ConfigError


@pytest.mark.parametrize(
    ("change", "message"),
    [({"hashes": None}, "hashes"),
     ({"max_seq_length": -3}, "max_seq_length should be"), ({"max_seq_length": 0}, "max_seq_length should be")],
)  # fmt: skip
def test_a_folder_with_an_impossible_value(
    change: dict[str, object], message: str, trained: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "other"
    shutil.copytree(trained, folder)
    content = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**content, **change}))
    with pytest.raises(CheckpointError, match=message):
        Predictor.load(folder)


@pytest.mark.parametrize("missing", ["planted_scores.npz", "thresholds.json", "vocabulary.json"])
def test_a_torn_folder(trained: Path, tmp_path: Path, missing: str) -> None:
    folder = tmp_path / "other"
    shutil.copytree(trained, folder)
    (folder / missing).unlink()
    with pytest.raises(CheckpointError):
        Predictor.load(folder)


def test_no_such_folder_no_such_device_and_no_documents_at_once(trained: Path, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="no complete PLANT model"):
        Predictor.load(tmp_path / "nothing")
    with pytest.raises(ConfigError, match="cannot be used here"):
        Predictor.load(trained, device="nothing:7")
    with pytest.raises(ConfigError, match="batch_size: 0 is below 1"):
        Predictor.load(trained, device="cpu", batch_size=0)


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
