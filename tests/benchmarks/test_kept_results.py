"""Results of experiments come back as they were kept; what runs share is stored once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from kept_results import (
    RESULTS,
    Run,
    change_runs,
    files_of,
    keep_run,
    load_systems,
    names_in,
    read_results,
    read_runs,
    write_runs,
)
from made_up_runs import write_run

from plant_plugin.errors import DataError
from plant_plugin.evaluation.per_document import load_per_document
from plant_plugin.report.result import read_result

LARGEST = 25_000_000  # bytes of all results
RUNS = [("plant", 1), ("plant", 2), ("linear", 1)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three runs of an experiment."""
    for variant, seed in RUNS:
        made = tmp_path / f"{variant}{seed}"
        write_run(made, 2.0 if variant == "plant" else 0.5, seed)
        documents = load_per_document(made / "per_document.npz")
        keep_run(tmp_path / "results" / "tiny", variant, read_result(made / "result.json"), documents)
    return tmp_path / "results" / "tiny"


def test_runs_come_back_as_they_were_kept(folder: Path) -> None:
    assert names_in(folder.parent) == ["tiny"]
    runs = read_runs(folder)
    assert sorted(runs) == sorted(RUNS)
    for (variant, seed), run in runs.items():
        made = folder.parents[1] / f"{variant}{seed}"
        assert run.result == read_result(made / "result.json")
        expected = load_per_document(made / "per_document.npz").arrays()
        assert list(run.arrays) == list(expected)
        for name, array in expected.items():
            assert run.arrays[name].dtype == array.dtype
            np.testing.assert_array_equal(run.arrays[name], array)


def test_what_runs_share_is_stored_once(folder: Path) -> None:
    stored = np.load(folder.with_name("tiny.npz"))
    (run, *_) = read_runs(folder).values()
    assert len(stored["truth_labels.uint16"]) == len(run.arrays["truth_labels"])
    assert len(stored["top.uint16"]) == len(RUNS) * run.arrays["top"].size


def test_the_same_runs_are_the_same_bytes(folder: Path) -> None:
    before = [path.read_bytes() for path in files_of(folder)]
    change_runs(folder, lambda runs: None)
    assert [path.read_bytes() for path in files_of(folder)] == before


def test_a_run_takes_the_place_of_one_of_the_same_seed(folder: Path) -> None:
    result = {**read_results(folder)["plant", 2], "device": "another"}
    keep_run(folder, "plant", result, None)
    assert [key for key, run in read_runs(folder).items() if run.result.get("device") == "another"] == [("plant", 2)]
    (plant,) = load_systems(folder, ["plant"])
    assert (len(plant.results), plant.documents) == (2, [])  # one of its runs has none


def test_systems_are_those_asked_for_with_their_seeds(folder: Path) -> None:
    systems = load_systems(folder, ["plant", "unknown"])
    assert [(system.name, len(system.results), len(system.documents)) for system in systems] == [("plant", 2, 2)]
    assert [system.name for system in load_systems(folder)] == ["linear", "plant"]
    assert load_systems(folder.with_name("nowhere")) == []


def test_without_runs_there_are_no_files(folder: Path) -> None:
    change_runs(folder, lambda runs: runs.clear())
    assert list(folder.parent.iterdir()) == []


def test_arrays_of_other_lines_are_refused(folder: Path) -> None:
    (key, run), *_ = read_runs(folder).items()
    lines = folder.with_name("tiny.jsonl.xz").read_bytes()
    write_runs(folder, {key: Run(run.result, {**run.arrays, "top": run.arrays["top"][:, :1]})})
    folder.with_name("tiny.jsonl.xz").write_bytes(lines)
    with pytest.raises(DataError, match="is not what the lines beside it say"):
        read_runs(folder)


def test_the_results_of_the_repository_are_small() -> None:
    sizes = [path.stat().st_size for name in names_in(RESULTS) for path in files_of(RESULTS / name)]
    assert len(sizes) == len(list(RESULTS.iterdir()))
    assert sum(sizes) <= LARGEST
