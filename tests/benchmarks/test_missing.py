"""What the experiments lack: what comes first, what it costs, what fits into an hour, and what happens when it ends."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import missing
import pytest
from definitions import Planned, load_definitions, plan
from kept_results import change_runs, keep_run, read_results
from made_up_runs import write_run
from missing import REST, SHOWN, TOO_FEW, UNTRIED, estimate, find_missing, make, minutes_of, rows_of, worth_of

from plant_plugin.report.result import read_result

CLAIMS: list[dict[str, Any]] = [
    {"id": "one", "tests": [{"experiment": "ablations", "gain": {"of": "full", "over": "mse", "metrics": ["P@1"]}}]},
    {"id": "two", "tests": [{"experiment": "ablations", "gain": {"of": "full", "over": "with_prior", "metrics": []}}]},
]
VARIANTS = ("full", "mse", "with_prior", "plant_bce")


def on_tiny(experiment: str = "ablations", variants: tuple[str, ...] = VARIANTS, seeds: int = 2) -> dict[str, Any]:
    """The definitions, of which one experiment is to run here, with some of its variants."""
    definitions = load_definitions()
    for definition in definitions.values():
        definition.pop("datasets", None)
    chosen = definitions[experiment]
    chosen |= {"datasets": ["tiny"], "seeds": seeds, "on_demand": [], "one_seed": []}
    chosen["variants"] = {name: chosen["variants"][name] for name in variants}
    return definitions


def has_run(results: Path, name: str, seed: int, minutes: float, experiment: str = "ablations") -> None:
    """A result that took so many processor minutes."""
    made = results.parent / "made"
    write_run(made, seed=seed)
    variant, _, value = name.rpartition("_")
    told = {"variant": variant if value.isdigit() else name}
    result = {**read_result(made / "result.json"), "experiment": told, "cpu_s": {"total": 60 * minutes}}
    keep_run(results / f"tiny-{experiment}", name, result, None)
    shutil.rmtree(made)


def found(results: Path, definitions: dict[str, Any], *only: str) -> list[tuple[str, int, int]]:
    listed, _ = find_missing(results, only, definitions=definitions, claims=CLAIMS)
    return [(one.planned.name, one.planned.seed, one.worth) for one in listed]


def test_what_claims_want_comes_first_then_the_first_seeds_then_the_cheapest(tiny: Path) -> None:
    results = tiny / "results"
    has_run(results, "full", 1, 5.0)
    has_run(results, "mse", 3, 9.0)  # a seed that nobody asked for is one all the same
    assert found(results, on_tiny()) == [
        ("with_prior", 1, UNTRIED),
        ("mse", 1, TOO_FEW),
        ("full", 2, TOO_FEW),
        ("with_prior", 2, TOO_FEW),
        ("mse", 2, TOO_FEW),
        ("plant_bce", 1, REST),
        ("plant_bce", 2, REST),
    ]
    has_run(results, "mse", 4, 1.0)
    has_run(results, "mse", 5, 1.0)
    assert [name for name, seed, worth in found(results, on_tiny()) if (seed, worth) == (2, TOO_FEW)] == [
        "mse", "with_prior", "full",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("claims", "shown", "seeds", "seed", "expected"),
    [
        (["a"], True, 0, 1, (UNTRIED, "claim a: no seed")),
        (["a", "b"], False, 0, 2, (TOO_FEW, "claims a, b: no seed")),
        (["a", "b", "c", "d"], False, 1, 2, (TOO_FEW, "claims a, b and 2 more: 1 seed")),
        ([], True, 0, 1, (SHOWN, "in the README")),
        ([], False, 3, 4, (REST, "its own table")),
    ],
)
def test_worth(claims: list[str], shown: bool, seeds: int, seed: int, expected: tuple[int, str]) -> None:
    assert worth_of(claims, shown, seeds, seed) == expected


def test_several_experiments_or_data_sets_are_each_listed(tiny: Path) -> None:
    definitions = on_tiny(variants=("full",)) | {"coding": on_tiny("coding", ("linear",), 1)["coding"]}
    every = found(tiny / "results", definitions)
    assert {name for name, *_ in every} == {"full", "linear"}
    assert found(tiny / "results", definitions, "ablations", "coding") == every
    assert found(tiny / "results", definitions, "ablations", "tiny", "eurlex6k") == found(
        tiny / "results", definitions, "ablations"
    )


def test_rows_of_the_readme_come_before_the_rest(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(missing.IN_README, "tiny-coding", [])
    definitions = on_tiny("coding", ("linear", "plant"), 1)
    definitions["coding"]["in_readme"] = ["linear"]
    assert found(tiny / "results", definitions) == [("linear", 1, SHOWN), ("plant", 1, REST)]


def test_cost_is_that_of_the_nearest_kin(tiny: Path) -> None:
    results, folder = tiny / "results", tiny / "results" / "tiny-training_size"
    (planned,) = plan("training_size", "tiny", [1], variants=["plant"])[0][:1]
    assert (planned.name, estimate(planned, minutes_of(results, "tiny"))) == ("plant_0.05", None)
    for name, seed, minutes, experiment, expected in (
        ("full", 1, 7.0, "ablations", 7.0),  # another experiment
        ("full", 2, 9.0, "ablations", 8.0),
        ("end_to_end_1", 1, 5.0, "training_size", 5.0),  # another variant
        ("plant_1", 1, 3.0, "training_size", 3.0),  # another value
        ("plant_0.05", 2, 2.0, "training_size", 2.0),  # another seed
    ):
        has_run(results, name, seed, minutes, experiment)
        if name == "plant_0.05":
            change_runs(folder, lambda runs: runs["plant_0.05", 2].result.update(experiment={"variant": "plant"}))
        assert estimate(planned, minutes_of(results, "tiny")) == expected, name
    change_runs(folder, lambda runs: runs["plant_0.05", 2].result.pop("cpu_s"))
    seconds = read_results(folder)["plant_0.05", 2]["time_s"]["total"]
    assert estimate(planned, minutes_of(results, "tiny")) == seconds / 60
    assert minutes_of(results, "tin") == []


def test_what_need_not_run_is_not_missing(tiny: Path) -> None:
    definitions = on_tiny("main", ("plant", "end_to_end", "linear", "laat"), 2)
    definitions["main"] |= {"on_demand": ["end_to_end"], "one_seed": ["linear"]}
    claims = [{"id": "a", "tests": [{"experiment": "main", "seeds": {"of": "laat", "over": "plant", "metrics": []}}]}]
    listed, without = find_missing(tiny / "results", definitions=definitions, claims=claims)
    assert {(one.planned.name, one.planned.seed) for one in listed} == {("plant", 1), ("plant", 2), ("linear", 1)}
    assert without == ["main tiny laat"]  # it has no configuration


def test_a_result_without_its_measure_is_missing(tiny: Path) -> None:
    results = tiny / "results"
    has_run(results, "plant", 1, 1.0, "attention")
    assert found(results, on_tiny("attention", ("plant",), 1)) == [("plant", 1, REST)]
    change_runs(results / "tiny-attention", lambda runs: runs["plant", 1].result.update(attention={}))
    assert found(results, on_tiny("attention", ("plant",), 1)) == []


def test_rows_hold_what_belongs_together(tiny: Path) -> None:
    results, grid = tiny / "results", on_tiny("top_k", ("within",), 2)
    has_run(results, "within_5", 1, 3.0, "top_k")
    rows = rows_of(find_missing(results, definitions=grid, claims=CLAIMS)[0])
    assert rows == [
        ["top_k", "tiny", "within 10, 20, 50, 100, 200", "1 2", "30.0", "its own table"],
        ["top_k", "tiny", "within 5", "2", "3.0", "its own table"],
    ]
    Path("valid.txt").unlink()
    (listed, _) = find_missing(results, definitions=grid, claims=CLAIMS)
    assert rows_of(listed) == [["top_k", "tiny", "11 runs", "1 2", "33.0", "data missing: valid.txt"]]
    assert make(listed, results, tiny / "work") == 0  # nothing was called


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """What was run: each takes ten minutes of the clock and leaves a result of five."""
    seen: list[tuple[str, int]] = []

    def run(runs: list[Planned], folder: Path, work: Path, *, keep_models: bool) -> list[tuple[Planned, str]]:
        (planned,) = runs
        seen.append((planned.name, planned.seed))
        if planned.name == "mse":
            return [(planned, "it broke")]
        has_run(folder.parent, planned.name, planned.seed, 5.0)
        return []

    monkeypatch.setattr(missing, "run_experiment", run)
    return seen


@pytest.mark.parametrize(
    ("budget", "expected", "told"),
    [
        (None, 6, ""),
        (24.0, 2, "stopped before ablations tiny full, seed 2: about 5.0 minutes, and 4.0 are left"),
        (26.0, 3, "stopped before ablations tiny with_prior, seed 2: about 5.0 minutes, and 0.0 are left"),
        (4.0, 1, "stopped before ablations tiny with_prior, seed 1: about 5.0 minutes, and 0.0 are left"),
    ],
)
def test_a_budget_ends_before_what_does_not_fit(
    tiny: Path, made: list[tuple[str, int]], capsys: pytest.CaptureFixture[str],
    budget: float | None, expected: int, told: str,
) -> None:  # fmt: skip
    variants = ("full", "with_prior", "plant_bce")
    listed, _ = find_missing(tiny / "results", definitions=on_tiny(variants=variants), claims=CLAIMS)
    assert [one.minutes for one in listed] == [None] * 6  # so the first is begun whatever the budget is
    assert make(listed, tiny / "results", tiny / "work", budget=budget, clock=lambda: 600.0 * len(made)) == 0
    assert len(made) == expected
    assert made[:3] == [("full", 1), ("with_prior", 1), ("full", 2)][:expected]
    out = capsys.readouterr().out
    assert told in out
    assert "1/6 ablations tiny full, seed 1: unknown length" in out


def main(arguments: list[str], definitions: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(missing, "load_definitions", lambda: definitions)
    monkeypatch.setattr(missing, "load_claims", lambda: CLAIMS)
    return missing.main([*arguments, "--results", "results", "--work", "work"])


def test_a_failed_run_is_told_and_the_others_go_on(
    tiny: Path, made: list[tuple[str, int]], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["--run", "ablations", "tiny"], on_tiny(seeds=1), monkeypatch) == 1
    assert [name for name, _ in made] == ["full", "mse", "with_prior", "plant_bce"]
    assert capsys.readouterr().err == "failed: ablations tiny mse, seed 1: it broke\n"
    assert main([], on_tiny(seeds=1), monkeypatch) == 0
    assert "1 runs are missing, 0 of them for want of data; the others take about 5 CPU" in capsys.readouterr().out
    assert main(["--run"], on_tiny(variants=("full",), seeds=1), monkeypatch) == 0


def test_an_interruption_says_how_to_go_on(
    tiny: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(missing, "run_experiment", interrupted)
    assert main(["--minutes", "60"], on_tiny(), monkeypatch) == 130
    assert capsys.readouterr().err.strip() == missing.GOES_ON


def test_the_list(tiny: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert main([], on_tiny(), monkeypatch) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines() if "ablations" in line]
    assert lines[0] == ["ablations", "tiny", "full", "1", "unknown", "claims", "one,", "two:", "no", "seed"]
    assert main(["top_k"], on_tiny(), monkeypatch) == 0
    assert "0 runs are missing" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["nothing"], on_tiny(), monkeypatch)
    assert "is called nothing" in capsys.readouterr().err


@pytest.mark.integration
def test_the_packaged_experiments_can_be_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    listed, _ = find_missing(tmp_path)
    assert {one.absent for one in listed} >= {"data/bc5cdr/train.txt"}
    assert all(one.absent for one in listed)
    assert {one.worth for one in listed} == {UNTRIED, TOO_FEW, SHOWN, REST}
    on_demand = {name: set(definition.get("on_demand", ())) for name, definition in load_definitions().items()}
    assert all(one.planned.variant not in on_demand[one.planned.experiment] for one in listed)
