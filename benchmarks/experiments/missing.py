"""List the runs that the experiments of `experiments.yml` lack, in the order of their worth, and make them.

    python benchmarks/experiments/missing.py [NAME …]              # the list; NAME: an experiment or a data set
    python benchmarks/experiments/missing.py --run [NAME …]        # make them, one after the other
    python benchmarks/experiments/missing.py --minutes 60 [NAME …] # as many as end within an hour

Stand in a folder that holds ``data/DATASET``. First come results that a claim of ``claims.yaml`` needs and has no seed
of, then claims with too few seeds, then rows of the README, then the rest; within these the first seed of all before
the second, and what is cheaper before what is dearer. What a run costs is the median of what others of its variant
took, else of its experiment on its data set, else of all experiments on it. What was interrupted goes on, as with
``run.py``; what another experiment has run already is copied at no cost. Then ``python benchmarks/tables.py``.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from definitions import Planned, datasets_of, load_definitions, packaged, plan, results_folder
from rich import box
from rich.console import Console
from rich.table import Table
from run import is_measured, measure, result_of, run_experiment

sys.path.append(str(Path(__file__).resolve().parents[1]))  # where claims and tables are
from claims import load_claims
from kept_results import RESULTS, names_in, read_results
from tables import IN_README

UNTRIED, TOO_FEW, SHOWN, REST = range(4)  # the order of worth
FILES = ("training_file", "val_file", "test_file", "label_file")
NAMED, UNKNOWN = 2, "unknown"  # claims that a row names; minutes where nothing has run
COLUMNS = ("experiment", "data set", "variant", "seeds missing", "CPU minutes", "why")
WIDTH = 160  # of the table in a file
GOES_ON = "stopped; the same command goes on from there"


@dataclass(frozen=True)
class Missing:
    """A run without a result.

    Attributes:
        planned: The run.
        dataset: Its data set.
        worth: Place in the order of worth, 0 first.
        why: What needs it.
        minutes: Of a processor, as others took; None: none has run.
        absent: A file of the data that is not there, or None.
    """

    planned: Planned
    dataset: str
    worth: int
    why: str
    minutes: float | None
    absent: str | None

    @property
    def order(self) -> tuple[bool, int, int, float]:
        """What sorts the runs; those without data come last."""
        minutes = float("inf") if self.minutes is None else self.minutes
        return self.absent is not None, self.worth, self.planned.seed, minutes

    def __str__(self) -> str:
        return f"{self.planned.experiment} {self.dataset} {self.planned.name}, seed {self.planned.seed}"


def claims_on(claims: Iterable[dict[str, Any]]) -> dict[tuple[str, str], list[str]]:
    """Experiment and variant -> the claims that rest on it; a grid's variant stands for all its values."""
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    for claim in claims:
        for test in claim.get("tests", ()):
            (kind,) = set(test) - {"experiment"}
            for name in (test[kind][key] for key in ("of", "over") if key in test[kind]):
                if claim["id"] not in found[test["experiment"], name]:
                    found[test["experiment"], name].append(claim["id"])
    return found


def minutes_of(results: Path, dataset: str) -> list[tuple[str, str, str, float]]:
    """Experiment, variant, folder and processor minutes of a data set's results; minutes where those are lacking."""
    found = []
    for folder in (results / name for name in names_in(results) if name.partition("-")[0] == dataset):
        experiment = folder.name.partition("-")[2] or "main"
        for (name, _), result in read_results(folder).items():
            minutes = result.get("cpu_s", result["time_s"])["total"] / 60
            found.append((experiment, result.get("experiment", {}).get("variant", name), name, minutes))
    return found


def estimate(planned: Planned, known: list[tuple[str, str, str, float]]) -> float | None:
    """Processor minutes of a run as ``minutes_of`` knows them; None where nothing has run on the data set."""
    here = [
        (variant, name, minutes) for experiment, variant, name, minutes in known if experiment == planned.experiment
    ]
    for values in (
        [minutes for _, name, minutes in here if name == planned.name],  # other seeds
        [minutes for variant, _, minutes in here if variant == planned.variant],  # other values of a grid
        [minutes for *_, minutes in here],
        [minutes for *_, minutes in known],
    ):
        if values:
            return statistics.median(values)
    return None


def absent_file(planned: Planned) -> str | None:
    """The first file of the data that is not there."""
    content = packaged(planned.config_name)
    evidence = {f"evidence.{key}": name for key, name in content.get("evidence", {}).items()}
    said = {**content, **evidence, **planned.flags}
    names = [said.get(f"{of}{key}") for of in ("", "evidence.") for key in FILES]
    names += [name for name in [planned.flags.get("planted_scores.names")] if "/" in str(name)]
    return next((name for name in names if name and not name.startswith("demo:") and not Path(name).is_file()), None)


def find_missing(
    results: Path,
    only: Sequence[str] = (),
    *,
    definitions: dict[str, dict[str, Any]] | None = None,
    claims: list[dict[str, Any]] | None = None,
) -> tuple[list[Missing], list[str]]:
    """The runs without a result in the order of their worth, and what claims want that has no configuration.

    Args:
        results: The folder of all results.
        only: Experiments and data sets; others are left out. None of either: all.
        definitions: Instead of those of ``experiments.yml``.
        claims: Instead of those of ``claims.yaml``.
    """
    definitions = definitions or load_definitions()
    needed = claims_on(load_claims() if claims is None else claims)
    found, without = [], []
    experiments, datasets = set(only) & set(definitions), set(only) - set(definitions)
    for experiment, definition in definitions.items():
        for dataset in datasets_of(definition):
            if (experiments and experiment not in experiments) or (datasets and dataset not in datasets):
                continue
            runs, unpackaged = plan(experiment, dataset, definitions=definitions)
            folder, known = results_folder(results, experiment, dataset), minutes_of(results, dataset)
            kept = read_results(folder)
            for planned in runs:
                result = kept.get((planned.name, planned.seed))
                if result is not None and ("measure" not in definition or is_measured(result)):
                    continue
                rest = needed.get((experiment, planned.name)) or needed.get((experiment, planned.variant), [])
                shown = folder.name in IN_README and planned.variant in definition.get("in_readme", ())
                seeds = sum(name == planned.name for name, _ in kept)
                worth, why = worth_of(rest, shown, seeds, planned.seed)
                found.append(Missing(planned, dataset, worth, why, estimate(planned, known), absent_file(planned)))
            without += [f"{experiment} {dataset} {name}" for name in unpackaged if (experiment, name) in needed]
    return sorted(found, key=lambda one: one.order), without


def worth_of(claims: Sequence[str], shown: bool, seeds: int, seed: int) -> tuple[int, str]:
    """The place of a run in the order of worth, and why: ``claims`` need it, and it has so many ``seeds``."""
    if claims:
        more = f" and {len(claims) - NAMED} more" if len(claims) > NAMED else ""
        why = f"{', '.join(claims[:NAMED])}{more}: {seeds or 'no'} seed{'s' * (seeds > 1)}"
        return (TOO_FEW if seeds or seed > 1 else UNTRIED), f"claim{'s' * (len(claims) > 1)} {why}"
    return (SHOWN, "in the README") if shown else (REST, "its own table")


def rows_of(missing: list[Missing]) -> list[list[str]]:
    """A row for each variant and reason, in the order of their first runs; one for each experiment without data."""
    by_name: dict[tuple[Any, ...], list[Missing]] = {}
    for one in missing:
        named = one.absent or (one.worth, one.why, one.planned.name)
        by_name.setdefault((one.planned.experiment, one.dataset, named), []).append(one)
    rows: dict[tuple[Any, ...], list[list[Missing]]] = {}  # values of a grid that lack the same seeds in one row
    for (experiment, dataset, named), runs in by_name.items():
        seeds = tuple(dict.fromkeys(one.planned.seed for one in runs))
        key = named if runs[0].absent else (runs[0].worth, runs[0].why, runs[0].planned.variant)
        rows.setdefault((experiment, dataset, key, seeds), []).append(runs)
    told = []
    for (experiment, dataset, _, seeds), groups in rows.items():
        first, known = groups[0][0], [one.minutes for runs in groups for one in runs]
        values = ", ".join(f"{runs[0].planned.value:g}" for runs in groups if runs[0].planned.value is not None)
        variant = f"{first.planned.variant} {values}".strip() if first.absent is None else f"{len(known)} runs"
        minutes = UNKNOWN if None in known else f"{sum(value for value in known if value is not None):.1f}"
        why = f"data missing: {first.absent}" if first.absent else first.why
        told.append([experiment, dataset, variant, " ".join(map(str, seeds)), minutes, why])
    return told


def total(missing: list[Missing]) -> str:
    """How much is missing, in one line."""
    ready = [one for one in missing if one.absent is None]
    minutes = [one.minutes for one in ready if one.minutes is not None]
    unknown = f"; of {len(ready) - len(minutes)} that is not known" if len(minutes) < len(ready) else ""
    return (
        f"{len(missing)} runs are missing, {len(missing) - len(ready)} of them for want of data; "
        f"the others take about {sum(minutes):.0f} CPU minutes{unknown}"
    )


def make(
    missing: list[Missing],
    results: Path,
    work: Path,
    *,
    budget: float | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> int:
    """Make runs one after the other; how many failed.

    Args:
        missing: The runs; those without data are left out.
        results: The folder of all results.
        work: Runs in progress.
        budget: Minutes; it ends before the first run that would not fit. Where its length is unknown it begins.
        clock: Seconds.
    """
    definitions, start, failed = load_definitions(), clock(), 0
    ready = [one for one in missing if one.absent is None]
    for number, one in enumerate(ready, start=1):
        planned, left = one.planned, float("inf") if budget is None else budget - (clock() - start) / 60
        minutes = estimate(planned, minutes_of(results, one.dataset))  # runs before this one may tell more
        length = "unknown length" if minutes is None else f"about {minutes:.1f} minutes"
        if left <= 0 or (minutes or 0.0) > left:
            print(f"stopped before {one}: {length}, and {max(left, 0.0):.1f} are left", flush=True)
            break
        print(f"{number}/{len(ready)} {one}: {length}", flush=True)
        definition, folder = definitions[planned.experiment], results_folder(results, planned.experiment, one.dataset)
        failures = run_experiment([planned], folder, work, keep_models=definition.get("keep_models", False))
        for _, how in failures:
            print(f"failed: {one}: {how}", file=sys.stderr, flush=True)
        failed += len(failures)
        if not failures:  # what is measured may compare seeds, so it looks at all of the variant
            runs, _ = plan(planned.experiment, one.dataset, variants=[planned.variant])
            measure(definition, [other for other in runs if result_of(other, folder)], folder, work)
    return failed


def main(arguments: list[str] | None = None) -> int:
    """List what is missing, or make it."""
    definitions = load_definitions()
    names = {*definitions, *(name for definition in definitions.values() for name in datasets_of(definition))}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("only", nargs="*", metavar="NAME", help="experiments and data sets; default: all")
    parser.add_argument("--run", action="store_true", help="make them")
    parser.add_argument("--minutes", type=float, help="make as many as fit into so many minutes")
    parser.add_argument("--results", type=Path, default=RESULTS, help="another folder for the results")
    parser.add_argument("--work", type=Path, default=Path("runs/experiments"), help="runs in progress, kept models")
    options = parser.parse_args(arguments)
    if unknown := set(options.only) - names:
        parser.error(
            f"no experiment and no data set is called {', '.join(sorted(unknown))}: {', '.join(sorted(names))}"
        )
    missing, without = find_missing(options.results, options.only)
    if options.run or options.minutes is not None:
        try:
            return 1 if make(missing, options.results, options.work, budget=options.minutes) else 0
        except KeyboardInterrupt:
            print(f"\n{GOES_ON}", file=sys.stderr)
            return 130
    if missing:
        table = Table(*COLUMNS, box=box.SIMPLE_HEAD)
        for row in rows_of(missing):
            table.add_row(*row)
        Console(width=None if sys.stdout.isatty() else WIDTH).print(table)
    print(total(missing))
    if without:
        print(f"claims want these, and there is no configuration: {', '.join(without)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
