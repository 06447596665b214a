"""Systems side by side: means over seeds, and what the paired tests say against a baseline."""

from __future__ import annotations

import functools
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from plant_plugin.errors import ConfigError, DataError
from plant_plugin.evaluation.joined_labels import joined
from plant_plugin.evaluation.names import Metric, parse_metric
from plant_plugin.evaluation.per_document import PerDocument
from plant_plugin.evaluation.resampling import DocumentSums, compare_documents, computable
from plant_plugin.evaluation.verdict import BETTER, WORSE, Comparison
from plant_plugin.report.pairs import paired
from plant_plugin.report.published import Published
from plant_plugin.report.systems import System, check_same_split, counted_on, obstacle

METRICS = ("P@1", "P@5", "P@15", "R@5", "RP@5", "nDCG@5", "PSP@5", "MAP", "MAP-gold", "Micro-F1@micro",
           "Macro-F1@macro", "Macro-F1-present@macro", "Macro-F1-caml@macro", "AUC-macro", "AUC-micro")  # fmt: skip
FIELDS = {  # what papers on coding and on extreme classification print
    "icd": ("AUC-macro", "AUC-micro", "Macro-F1@macro", "Micro-F1@micro", "P@5", "P@8", "P@15", "R@15", "MAP"),
    "xmc": ("P@1", "P@3", "P@5", "PSP@1", "PSP@3", "PSP@5"),
}
AVERAGE = "average gain"  # takes the place of a system in the cells of what pairs gain together
UP, DOWN = "▲", "▼"


@dataclass
class Cell:
    """One number of the table.

    Attributes:
        mean: Over seeds, a fraction; None where no seed has it.
        deviation: Standard deviation over seeds; None for one seed.
        test: Against the baseline, where there is one.
        obstacle: Why it cannot be compared with the baseline.
        best: Whether no comparable system has a higher mean.
    """

    mean: float | None
    deviation: float | None = None
    test: Comparison | None = None
    obstacle: str | None = None
    best: bool = False

    @property
    def mark(self) -> str:
        """Return ▲ or ▼ where the verdict is better or worse."""
        return "" if self.test is None else {BETTER: UP, WORSE: DOWN}.get(self.test.verdict, "")


@dataclass(repr=False)
class Table:
    """Systems, metrics and cells, with sentences on what they do not say.

    Attributes:
        title: Data set and split.
        baseline: The system that the others are tested against.
        resamples: How many, of bootstrap and randomisation.
        systems: Names, one a row.
        seeds: How many each system has.
        metrics: Names, one a column.
        cells: By names of system and metric; of ``average gain``, what pairs gain together, the test only.
        notes: What was left out and why.
        published: Rows of papers, which are in no cell and in no test.
    """

    title: str
    baseline: str
    resamples: int
    systems: list[str]
    seeds: dict[str, int]
    metrics: list[str]
    cells: dict[tuple[str, str], Cell]
    notes: list[str] = field(default_factory=list)
    published: Published | None = None


def compare(
    systems: Sequence[System],
    baseline: str,
    *,
    metrics: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    published: Published | None = None,
    pairs: Sequence[tuple[str, str]] = (),
    resamples: int = 1000,
) -> Table:
    """Compare systems with a baseline.

    Args:
        systems: At least the baseline.
        baseline: Name of one of them.
        metrics: Names as in results, of which some result has to have each; None for ``columns``.
        columns: The same, as far as any system has them; None for those of the published results, or ``METRICS``.
        published: What papers report of the benchmark.
        pairs: Names of two systems each: what the first gains over the second, the mean of all pairs is tested too.
        resamples: Of bootstrap and randomisation.

    Raises:
        ConfigError: No system is called like the baseline or one of a pair, or an unknown metric.
        DataError: Different test splits, a metric asked for that no result has, or pairs that have no mean.
    """
    by_name = {system.name: system for system in systems}
    for where, name in (("--baseline", baseline), *(("--pair", name) for pair in pairs for name in pair)):
        if name not in by_name:
            raise ConfigError(f"no result is called {name!r}", where=where, fix=f"choose one of {', '.join(by_name)}")
    against = by_name[baseline]
    for system in systems:
        check_same_split(system, against)
    if columns is None:
        columns = METRICS if published is None else FIELDS[published.benchmark.field]
    notes: list[str] = []
    if published is not None:
        columns = published.columns(columns)
        notes += published.other_documents(against.told("counts", "documents"))
    shown = _columns(systems, metrics, columns)
    cells, sums_of_baseline = {}, functools.cache(DocumentSums)
    for system in systems:
        obstacles = {metric.name: obstacle(metric, system, against) for metric in shown}
        tests = {}
        if system is not against:
            tests = _tests(system, against, obstacles, sums_of_baseline, notes, resamples)
        for name, reason in obstacles.items():
            values = system.values(name)
            mean = statistics.fmean(values) if values else None
            deviation = statistics.stdev(values) if len(values) > 1 else None
            cells[system.name, name] = Cell(mean, deviation, tests.get(name), reason)
        for reason in dict.fromkeys(reason for reason in obstacles.values() if reason):
            refused = ", ".join(name for name, problem in obstacles.items() if problem == reason)
            notes.append(f"{system.name}: {refused} cannot be compared as they stand: {reason}")
    for metric in shown:
        comparable = [cell for (_, name), cell in cells.items() if name == metric.name and not cell.obstacle]
        means = [cell.mean for cell in comparable if cell.mean is not None]
        for cell in comparable:
            cell.best = len(means) > 1 and cell.mean == max(means)
    if pairs:
        average = _average_gain([(by_name[ours], by_name[other]) for ours, other in pairs], shown, resamples)
        cells |= {(AVERAGE, name): Cell(None, test=test) for name, test in average.items()}
        if left := [metric.name for metric in shown if metric.name not in average]:
            notes.append(f"{AVERAGE}: no tests of {', '.join(left)}: not comparable, or not kept document by document")
        notes.append(f"{AVERAGE}: the mean of {'; '.join(f'{ours} over {other}' for ours, other in pairs)}")
    first = against.results[0]
    title = f"{first.get('dataset', 'unnamed')}, {first.get('split', 'test')} split"
    seeds = {system.name: len(system.results) for system in systems}
    names = [metric.name for metric in shown]
    return Table(title, baseline, resamples, list(by_name), seeds, names, cells, notes, published)


def _columns(systems: Sequence[System], names: Sequence[str] | None, columns: Sequence[str]) -> list[Metric]:
    """Choose the metrics named.

    Without names they are those of ``columns`` that any result has, at 0.5 where no threshold was tuned.
    """
    held = {name for system in systems for result in system.results for name in result["metrics"]}
    if names:
        parsed = [parse_metric(parse_metric(name).canonical) for name in names]
    else:
        at_half = {name: name.replace("@micro", "@0.5").replace("@macro", "@0.5") for name in columns}
        parsed = [parse_metric(name if name in held else at_half[name]) for name in columns]
    missing = [metric.name for metric in parsed if not any(system.values(metric.name) for system in systems)]
    if names and missing:
        near = [name for name in sorted(held) if any(name.partition("@")[0] == m.partition("@")[0] for m in missing)]
        fix = f"choose metrics that results hold: {', '.join(near or sorted(held))}"
        raise DataError(f"no result has {', '.join(missing)}", where="--metric", fix=fix)
    return [metric for metric in parsed if metric.name not in missing]


def _tests(
    system: System,
    against: System,
    obstacles: Mapping[str, str | None],
    sums_of_baseline: Callable[[PerDocument, tuple[Metric, ...]], DocumentSums],
    notes: list[str],
    resamples: int,
) -> dict[str, Comparison]:
    """Return metric -> comparison, for those that can be tested; ``notes`` get why the others are not."""
    if not system.documents or not against.documents:
        lacking = " and ".join(side.name for side in (system, against) if not side.documents)
        notes.append(f"{system.name}: no tests, because {lacking} came without per-document values")
        return {}
    alike = system.told("hashes", "labels") == against.told("hashes", "labels")
    ours, theirs = (side.documents for side in paired(system, against))
    if len({"\n".join(documents.labels) for documents in (*ours, *theirs)}) > 1:  # also of names that each seed uses
        ours, theirs = on_common_ground(ours, theirs)
    both = (*ours, *theirs)
    counted_alike = len({counted_on(documents) for documents in both}) == 1
    metrics = [parse_metric(name) for name in obstacles]
    on_own_labels = [metric for metric in metrics if metric.needs_training_counts and not counted_alike]
    comparable = [m for m in metrics if obstacles[m.name] is None or (not alike and m not in on_own_labels)]
    testable = tuple(metric for metric in comparable if all(computable(metric, documents) for documents in both))
    if untested := [metric.name for metric in comparable if metric not in testable and system.values(metric.name)]:
        notes.append(f"{system.name}: no tests of {', '.join(untested)}: not kept document by document")
    if not testable:
        return {}
    if not alike:
        notes.append(
            f"{system.name}: tests and gains are over the {len(ours[0].labels):,} labels that it or {against.name} "
            "knows, a label that a system does not know being never found by it; the columns are over each one's own"
        )
    sums = [DocumentSums(documents, testable) for documents in ours]
    of_baseline = [sums_of_baseline(documents, testable) for documents in theirs]
    return compare_documents(sums, of_baseline, resamples=resamples)


def _average_gain(
    pairs: Sequence[tuple[System, System]], shown: Sequence[Metric], resamples: int
) -> dict[str, Comparison]:
    """Return metric -> gain of the first of a pair over the second, mean over pairs: all draw the same documents.

    Source: PLANT's paper, Table 2, average absolute gains over backbones.
    """
    systems = paired(*(system for pair in pairs for system in pair))
    if not all(system.documents for system in systems):
        fix = "give each its results with the .npz beside them"
        raise DataError("a mean over pairs needs per-document values of each system", where="--pair", fix=fix)
    if len({str(system.told("hashes", "labels")) for system in systems}) > 1:
        raise DataError("the systems know different labels", where="--pair", fix="pair systems of one label set")
    every = [documents for system in systems for documents in system.documents]
    metrics = [metric for metric in shown if all(computable(metric, documents) for documents in every)]
    metrics = [metric for metric in metrics if not any(obstacle(metric, system, systems[0]) for system in systems)]
    if not metrics:
        return {}
    ours, theirs = (
        [DocumentSums(documents, metrics) for system in systems[side::2] for documents in system.documents]
        for side in (0, 1)
    )
    return compare_documents(ours, theirs, seeds=len(systems[0].documents), resamples=resamples)


def on_common_ground(ours: list[PerDocument], theirs: list[PerDocument]) -> tuple[list[PerDocument], list[PerDocument]]:
    """Move both to the union of their label sets, with every label true that is true in either."""
    ours, theirs = joined(ours, theirs)
    truth = ours[0].truth.maximum(theirs[0].truth).tocsr()
    truth.sort_indices()
    first, second = ([documents.finding(truth) for documents in side] for side in (ours, theirs))
    return first, second
