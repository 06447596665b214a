"""Which runs are compared: the newest finished one of each name and seed, and what is said of the others."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from plant_plugin.cli import plant
from plant_plugin.errors import DataError
from plant_plugin.report.read_systems import left_out, load_systems


@pytest.fixture(autouse=True)
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path / "runs"


AGES = iter(range(10**9, 2 * 10**9))  # of results, in the order of the calls


def ended(
    folder: str,
    model: str = "PLANT",
    seed: int = 1,
    *,
    config: str = "plant_mimic3_50",
    test: str = "t",
    p1: float = 0.5,
) -> str:
    """A run that has ended after those before."""
    path = Path("runs", folder, "result.json")
    path.parent.mkdir(parents=True)
    result = {
        "model": model, "strategy": "plant", "seed": seed, "config": config, "metrics": {"P@1": p1},
        "counts": {"documents": 3, "labels": 2}, "hashes": {"test": test, "labels": "l", "train": "a"},
    }  # fmt: skip
    path.write_text(json.dumps(result))
    os.utime(path, (age := next(AGES), age))
    return str(path.parent)


def stopped(folder: str) -> str:
    Path("runs", folder).mkdir(parents=True)
    Path("runs", folder, "run.json").write_text('{"config_hash": "x", "finished": false}')
    return str(Path("runs", folder))


def compare(*arguments: str) -> Result:
    return CliRunner().invoke(plant, ["compare", *arguments])


def test_the_newest_finished_run_of_each_name_and_seed_is_compared() -> None:
    old, half = ended("b_old", p1=0.1), stopped("c_stopped")
    new, other_seed, laat = ended("a_new", p1=0.9), ended("d_seed2", seed=2, p1=0.7), ended("e_laat", "LAAT")
    paths = [new, old, half, other_seed, laat]
    assert left_out(paths, "LAAT plant") == {
        half: "it has no result.json: it was stopped, is still running, or is no run",
        old: f"it is older than {new}, of the same name and seed; NAME={old} compares both",
    }
    done = compare(*paths, "--baseline", "PLANT plant")
    assert done.exit_code == 0, done.output
    assert "| PLANT plant | 2 | **80.0 ± 14.1** |" in done.output
    assert "| LAAT plant | 1 | 50.0 |" in done.output
    assert f"Note: {half} is left out: " in done.stderr
    assert f"Note: {old} is left out: it is older than {new}" in done.stderr
    both = compare(new, f"before={old}", "--baseline", "before")
    assert "| before | 1 | 10.0 |" in both.output
    assert "left out" not in both.stderr


def test_other_test_documents_than_the_baselines_are_left_out_while_something_remains() -> None:
    old, fifty = ended("mimic3_PLANT", test="old"), ended("mimic3_50_PLANT", test="fifty")
    plant_run, laat, newest = ended("mimic3_PLANT_2"), ended("mimic3_LAAT", "LAAT"), ended("mimic3_rare50", test="rare")
    reason = f"it has other test documents than {laat}"
    paths = [old, fifty, plant_run, laat, newest]
    assert left_out(paths, "LAAT plant") == dict.fromkeys((old, fifty, newest), reason)
    assert left_out([fifty, laat], "LAAT plant") == {}  # an error, which says what is wrong
    assert "different test splits" in compare(fifty, laat, "--baseline", "LAAT plant").output
    again = ended("mimic3_LAAT_2", "LAAT", test="prepared again")
    assert left_out([laat, again], "LAAT plant") == {laat: f"it has other test documents than {again}"}


def test_two_configurations_of_one_name_and_seed_are_two_systems() -> None:
    paths = [ended("a"), ended("b", config="plant_paper_mimic3_50"), ended("c", seed=2)]
    ours, papers = "PLANT plant (plant_mimic3_50)", "PLANT plant (plant_paper_mimic3_50)"
    assert left_out(paths, ours) == {}
    assert {system.name: len(system.results) for system in load_systems(paths)} == {ours: 2, papers: 1}
    refused = compare(*paths, "--baseline", "PLANT plant")
    assert refused.exit_code == 2
    assert f"choose one of {ours}, {papers}" in refused.output
    # seeds that are files of their own stay seeds
    seeds = [ended("d", "LAAT", config="seed1"), ended("e", "LAAT", 2, config="seed2")]
    assert [len(system.results) for system in load_systems(seeds)] == [2]


def test_where_no_run_has_ended_that_is_the_error() -> None:
    with pytest.raises(DataError, match=r"no run has ended") as error:
        left_out([stopped("a"), stopped("b")], "PLANT plant")
    assert "runs/a, runs/b" in str(error.value)
    assert "--resume auto" in str(error.value)


def test_a_path_that_is_nowhere_is_still_an_error() -> None:
    missing = compare(ended("a"), "runs/no_such", "--baseline", "PLANT plant")
    assert missing.exit_code != 0
    assert "runs/no_such" in missing.output
