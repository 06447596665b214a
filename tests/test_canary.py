"""No text and no id of a document comes into anything that a run prints or writes."""

from __future__ import annotations

import logging
import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch
from made_up_task import made_config, write_splits

from plant_plugin.errors import PlantError
from plant_plugin.training.run import run
from plant_plugin.training.stage2 import Stage2

ID, WORD = "id7726153", "zyxcanary"  # once in each file: below min_vocab_freq, so the vocabulary does not hold it
PHRASE = "filler7 filler3 filler9 filler3 filler7"  # its words are in the vocabulary, their order is the document's


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_splits(tmp_path)
    for number, name in enumerate(("train", "valid", "test")):
        path = tmp_path / f"{name}.txt"
        lines = [f"id{number}{row}\t{line}" for row, line in enumerate(path.read_text().splitlines())]
        lines.append(f"{ID}\tL1 L2\t{PHRASE} {WORD}{number}")
        path.write_text("\n".join(lines) + "\n")
    return tmp_path


def found_in(folder: Path) -> list[str]:
    """Files below a folder that hold the canary, archives opened."""
    found = []
    for path in folder.rglob("*"):
        if not path.is_file():
            continue
        contents = [path.read_bytes()]
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                contents += [archive.read(name) for name in archive.namelist()]
        if any(canary.encode() in content for content in contents for canary in (ID, WORD, PHRASE)):
            found.append(path.name)
    return found


def test_a_canary_in_the_data_is_in_no_output(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    loss, calls = Stage2.training_loss, []

    def once(self: Any, batch: Any) -> torch.Tensor:
        calls.append(1)
        return loss(self, batch) * (float("nan") if len(calls) == 3 else 1)  # the second is the batch that is tried

    monkeypatch.setattr(Stage2, "training_loss", once)
    config = made_config(
        folder, silent=False, min_vocab_freq=2, save_k_predictions=3, predict_out_path=None, stage1__epochs=1,
        stage2__epochs=1, planted_scores__model="ridge", batch_size=60, checkpoint_every="1",
    )  # fmt: skip
    with caplog.at_level(logging.DEBUG):
        run(config)
    assert "the step is left out" in caplog.text
    said = "".join(capfd.readouterr()) + caplog.text
    assert not any(canary in said for canary in (ID, WORD, PHRASE))
    assert {"result.json", "logs.json", "per_document.npz", "predictions.txt", "model.safetensors"} <= {
        path.name for path in (folder / "runs").rglob("*")
    }
    assert found_in(folder / "runs") == []
    assert found_in(folder / "cache") == []
    assert sorted(found_in(folder)) == ["test.txt", "train.txt", "valid.txt"]  # the search itself finds it


def test_a_canary_in_a_bad_line_is_not_in_the_error(folder: Path) -> None:
    with open(folder / "train.txt", "a") as stream:
        stream.write(f"{ID}\tL1\t{PHRASE}\t{WORD}\n")
    with pytest.raises(PlantError) as caught:
        run(made_config(folder))
    assert "line 122" in caught.value.message
    assert not any(canary in caught.value.message for canary in (ID, WORD, PHRASE))
