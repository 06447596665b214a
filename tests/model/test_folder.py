from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch

from plant_plugin.errors import CheckpointError
from plant_plugin.model.folder import check_identity, read_content, read_labels, read_metadata, write_tensors


@pytest.fixture
def folder(trained: Path, tmp_path: Path) -> Path:
    return shutil.copytree(trained, tmp_path / "model")


def change(folder: Path, **changes: object) -> None:
    content = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**content, **changes}))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model_name": "PLANTT"}, "there is no network 'PLANTT'"),
        ({"model_name": "somebody.networks:Net"}, "imports and runs 'somebody.networks'"),
        ({"network_config": {"trust_remote_code": True}}, "the network has no such argument"),
        ({"network_config": {"hidden_size": "wide"}}, "hidden_size"),
        ({"added": {"networks: Net": "of_somebody.yaml"}}, "'networks: Net' of a registry that was not named"),
        ({"planted_scores": False, "shortlist": 3}, "a shortlist without planted scores"),
    ],
)
def test_a_configuration_that_cannot_be_trusted_or_is_none_is_refused(
    folder: Path, changes: dict[str, object], message: str
) -> None:
    change(folder, **changes)
    with pytest.raises(CheckpointError, match=message):
        read_content(folder)


def test_labels_and_thresholds(trained: Path, folder: Path) -> None:
    labels, thresholds = read_labels(trained)
    assert labels == (trained / "labels.txt").read_text().splitlines()
    assert thresholds["0.5"] == 0
    (folder / "thresholds.json").write_text("{}")
    with pytest.raises(CheckpointError, match=r"not thresholds: it holds no 0\.5"):
        read_labels(folder)


def test_weights_carry_what_they_were_trained_for(tmp_path: Path) -> None:
    path = tmp_path / "weights.safetensors"
    write_tensors(path, {"a": torch.ones(2, 3).T}, {"labels": "x" * 64})
    assert read_metadata(path) == {"labels": "x" * 64}
    check_identity(path, {"labels": "x" * 64})
    with pytest.raises(CheckpointError, match="trained for labels xxxxxxxxxxxx, but labels here is yyyyyyyyyyyy"):
        check_identity(path, {"labels": "y" * 64})
    path.write_bytes(path.read_bytes()[:20])
    with pytest.raises(CheckpointError, match="the weights cannot be read"):
        read_metadata(path)
