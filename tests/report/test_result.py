from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import platform
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from plant_plugin import __version__
from plant_plugin.errors import PlantError
from plant_plugin.report.result import (
    completed,
    dataset_name,
    label_counts,
    labels_outside,
    save_result,
    versions,
    without_paths,
    write_predictions,
)


def config(**keys: Any) -> Any:
    return SimpleNamespace(**{"data_name": "eurlex6k", **keys})


def write(path: Path, **changes: Any) -> dict[str, Any]:
    values: dict[str, Any] = {
        "dataset": "eurlex6k",
        "config": "plant_eurlex6k",
        "model": "PLANT",
        "strategy": "plant",
        "seed": 1,
        "metrics": {"P@1": np.float64(0.79), "Macro-F1:0": float("nan")},
        "counts": {"documents": np.int64(3)},
        "thresholds": {"0.5": 0.0},
        "time_s": {"total": 1.5},
        "cpu_s": {"total": 2.5},
        "peak_memory_mb": {"total": 100.0},
        "hashes": {"labels": "l" * 64, "config": "c" * 64},
        "backend": "builtin",
        "device": "cpu",
    }
    content = completed({**values, **changes})
    save_result(path, content)
    return content


def test_file_holds_every_field(tmp_path: Path) -> None:
    returned = write(tmp_path / "run" / "result.json")
    read = json.loads((tmp_path / "run" / "result.json").read_text())
    assert read == returned
    assert read["versions"].pop("python")
    del read["versions"]
    assert read["processor"].pop("name")
    assert read["processor"].pop("cores") >= 1
    assert read.pop("processor") == {}
    assert read == {
        "dataset": "eurlex6k",
        "config": "plant_eurlex6k",
        "model": "PLANT",
        "strategy": "plant",
        "seed": 1,
        "split": "test",
        "metrics": {"P@1": 0.79, "Macro-F1:0": None},
        "counts": {"documents": 3},
        "thresholds": {"0.5": 0.0},
        "time_s": {"total": 1.5},
        "cpu_s": {"total": 2.5},
        "peak_memory_mb": {"total": 100.0},
        "device": "cpu",
        "hashes": {"labels": "l" * 64, "config": "c" * 64},
        "backend": "builtin",
    }


def test_what_is_empty_is_left_out_but_for_the_epochs_of_a_second_training(tmp_path: Path) -> None:
    found = write(tmp_path / "result.json", truncated={"test": 0.5}, refit={"documents": "train+val", "epochs": {}})
    assert found["truncated"] == {"test": 0.5}
    assert found["refit"] == {"documents": "train+val", "epochs": {}}
    assert "planted_scores" not in found


def test_changed_keys_say_nothing_of_where_files_lie() -> None:
    network = {"embed_dim": 32, "lm_weight": "/home/me/bert"}
    keys = {"training_file": "train.txt", "seed": 1, "evidence": {"val_file": "a.tsv", "prior": 2}, "network": network}
    assert without_paths(keys) == {"seed": 1, "evidence": {"prior": 2}, "network": {"embed_dim": 32}}


def test_peak_memory_as_one_number(tmp_path: Path) -> None:
    assert write(tmp_path / "result.json", peak_memory_mb=np.float32(12.5))["peak_memory_mb"] == 12.5


@pytest.mark.parametrize(
    ("keys", "name"),
    [
        ({"data_name": "EUR-Lex"}, "EUR-Lex"),
        ({"data_name": "unnamed", "training_file": "data/MIMIC/train.txt"}, "MIMIC"),
        ({"data_name": "unnamed", "training_file": None, "test_file": "data/MIMIC/test.txt"}, "MIMIC"),
        ({"data_name": "unnamed", "training_file": "demo:train"}, "demo"),
        ({"data_name": "unnamed", "training_file": None, "test_file": None}, "unnamed"),
    ],
)
def test_name_of_the_data_set(keys: dict[str, Any], name: str) -> None:
    assert dataset_name(config(**keys)) == name


def test_versions_come_from_what_is_installed() -> None:
    found = versions()
    assert {"python", "numpy", "scipy", "torch", "libmultilabel"} <= set(found)
    assert found["plant-plugin"] == __version__
    assert "not-installed" not in found


def test_pyxclib_is_known_by_the_name_of_its_distribution(monkeypatch: pytest.MonkeyPatch) -> None:
    def version(name: str) -> str:
        if name != "xclib":
            raise importlib.metadata.PackageNotFoundError(name)
        return "0.97"

    assert ("xclib" in versions()) == (importlib.util.find_spec("xclib") is not None)
    monkeypatch.setattr(importlib.metadata, "version", version)
    assert versions() == {"python": platform.python_version(), "xclib": "0.97"}


def test_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(PlantError, match="cannot be written"):
        write(tmp_path / "file" / "result.json")


def test_half_a_result_is_never_left(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    write(path)
    before = path.read_text()
    with pytest.raises(TypeError):
        write(path, counts={"documents": {1, 2}})  # a set is nothing that JSON knows
    assert path.read_text() == before
    assert [file.name for file in tmp_path.iterdir()] == ["result.json"]


def test_a_label_counts_once_per_document() -> None:
    assert label_counts([["a", "a", "c"], ["a"], ["unknown"]], ["a", "b", "c"]).tolist() == [2, 0, 1]


def test_an_unknown_label_counts_once_per_document() -> None:
    assert labels_outside([["a", "x", "x", "y"], [], ["b"]], ["a", "b"]).tolist() == [2, 0, 0]


def test_predictions_have_four_digits(tmp_path: Path) -> None:
    path = tmp_path / "predictions.txt"
    write_predictions(str(path), [(["a", "b"], [1.23456, -0.5]), ([], [])])
    assert path.read_text() == "a:1.235 b:-0.5\n\n"


def test_predictions_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(PlantError, match="cannot be written"):
        write_predictions(str(tmp_path / "file" / "predictions.txt"), [])
