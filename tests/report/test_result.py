from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from plant_plugin import __version__
from plant_plugin.errors import PlantError
from plant_plugin.report.result import dataset_name, versions, write_result


def config(**keys: Any) -> Any:
    defaults = {"config_name": "plant_eurlex6k", "data_name": "eurlex6k", "seed": 1, "hash": lambda: "c" * 64}
    return SimpleNamespace(**{**defaults, **keys})


def write(path: Path, **changes: Any) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "config": config(),
        "model": "PLANT",
        "strategy": "plant",
        "split": "test",
        "metrics": {"P@1": np.float64(0.79), "Macro-F1:0": float("nan")},
        "counts": {"documents": np.int64(3)},
        "thresholds": {"0.5": 0.0},
        "time_s": {"total": 1.5},
        "cpu_s": {"total": 2.5},
        "peak_memory_mb": {"total": 100.0},
        "hashes": {"labels": "l" * 64},
        "backend": "builtin",
        "device": "cpu",
    }
    return write_result(path, **{**settings, **changes})


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
