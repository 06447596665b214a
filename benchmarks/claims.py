"""Write ``benchmarks/tables/claims.md``: the claims of the papers, what they report, what results here say, a verdict.

    python benchmarks/claims.py            # write, where it is out of date (``made_from.py``)
    python benchmarks/claims.py --check    # exit 1 where it is; nothing is computed

``claims.yaml`` says which results can answer a claim. Each metric of each data set is one answer: yes, no difference,
or the opposite, by the tests of ``plant compare`` over documents, by Welch's interval over seeds, or by Spearman's
correlation over the runs of a grid, all at 5 %. The verdict counts the answers, of all data sets and of each; nobody
writes it.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from experiment_pages import column, each, tested
from kept_results import files_of, load_systems, names_in, read_results
from made_from import MadeFrom, digest, digest_of_code
from scipy import stats

from plant_plugin.report.formats import markdown_rows
from plant_plugin.report.systems import System

HERE = Path(__file__).resolve().parent
PAGE = HERE / "tables" / "claims.md"
KEYS = {"id", "claim", "source", "paper", "caution", "tests", "untestable"}
TESTS = {"gain": {"of", "over", "metrics"}, "seeds": {"of", "over", "metrics"}, "grid": {"of", "metrics", "from"}}
SIGNIFICANT = 0.05
ENOUGH = 5  # seeds; a verdict from fewer says so
MEASURED = ("compared", "results", "seeds", "metric", "percent", "gain", "is it so?")
YES, NO_DIFFERENCE, OPPOSITE = "yes", "no difference", "the opposite"
HOLDS, IN_PART, FAILS, NOT_TESTABLE, NOT_TRIED = (
    "holds", "holds in part", "does not hold", "not testable here", "not tried yet",
)  # fmt: skip


@dataclass(frozen=True)
class Answer:
    """What one metric of one data set says of a claim.

    Attributes:
        results: The folder of results.
        compared: Which variants, or what the metric is to rise with.
        metric: Name.
        values: Of both variants, means over seeds in percent; empty for a grid.
        gain: The difference in points and its interval, or the correlation.
        says: ``YES``, ``NO_DIFFERENCE`` or ``OPPOSITE``.
        seeds: Of the runs behind it, the fewest that a system or a value of a grid has.
    """

    results: str
    compared: str
    metric: str
    values: str
    gain: str
    says: str
    seeds: int

    @property
    def dataset(self) -> str:
        """Data set."""
        return self.results.partition("-")[0]

    @property
    def row(self) -> list[str]:
        """Of the table of a claim."""
        page = f"[{self.results}]({self.results}.md)"
        return [self.compared, page, str(self.seeds), self.metric, self.values, self.gain, self.says]

    @property
    def in_short(self) -> str:
        """Metric, values and gain."""
        return f"{self.metric} {self.values}, {self.gain}" if self.values else f"{self.metric} {self.gain}"


def load_claims(path: Path = HERE / "claims.yaml") -> list[dict[str, Any]]:
    """The claims, checked.

    Raises:
        ValueError: A key that does not exist or is missing, an id twice, or a claim that is neither tested nor said to
            be untestable.
    """
    claims: list[dict[str, Any]] = yaml.safe_load(path.read_text(encoding="utf-8"))
    seen: set[str] = set()
    for claim in claims:
        where = f"{path.name}, {claim.get('id', claim)}"
        if set(claim) - KEYS or not {"id", "claim", "source", "paper"} <= set(claim):
            raise ValueError(f"{where}: keys are {', '.join(sorted(KEYS))}; the first three and paper have to be there")
        if ("tests" in claim) == ("untestable" in claim):
            raise ValueError(f"{where}: give either tests or untestable")
        if claim["id"] in seen:
            raise ValueError(f"{where}: another claim has this id")
        seen.add(claim["id"])
        for test in claim.get("tests", ()):
            kinds = set(test) - {"experiment"}
            if len(kinds) != 1 or "experiment" not in test or not kinds <= set(TESTS):
                raise ValueError(f"{where}: a test has an experiment and one of {', '.join(TESTS)}")
            (kind,) = kinds
            if set(test[kind]) != TESTS[kind]:
                raise ValueError(f"{where}: {kind} has the keys {', '.join(sorted(TESTS[kind]))}")
    return claims


def folders_of(results: Path, experiment: str) -> list[Path]:
    """The results of an experiment, one a data set."""
    return [results / name for name in names_in(results) if (name.partition("-")[2] or "main") == experiment]


def answers_to(claim: dict[str, Any], results: Path) -> list[Answer]:
    """What all tests of a claim say."""
    return [answer for test in claim.get("tests", ()) for answer in answers(test, results)]


def answers(test: dict[str, Any], results: Path) -> Iterator[Answer]:
    """What a test says, of every data set that has results of it."""
    for folder in folders_of(results, test["experiment"]):
        if "grid" in test:
            yield from _over_a_grid(folder, *(test["grid"][key] for key in ("of", "metrics", "from")))
            continue
        kind = "gain" if "gain" in test else "seeds"
        of, over, metrics = (test[kind][key] for key in ("of", "over", "metrics"))
        systems = load_systems(folder, (of, over))
        if len(systems) < 2:
            continue
        yield from (_over_documents if kind == "gain" else _over_seeds)(folder, systems, of, over, metrics)


def _over_documents(folder: Path, systems: list[System], of: str, over: str, metrics: list[str]) -> Iterator[Answer]:
    table = tested(systems, over, metrics)
    for metric in table.metrics if table else ():
        if (test := table.cells[of, metric].test) is not None:
            says = NO_DIFFERENCE if not test.significant else YES if test.gain > 0 else OPPOSITE
            gain = f"{100 * test.gain:+.1f} ({100 * test.low:+.1f} to {100 * test.high:+.1f})"
            means = table.cells[over, metric].mean, table.cells[of, metric].mean
            seeds = min(table.seeds.values())
            yield Answer(folder.name, _pair(of, over), metric, _values(*means), gain, says, seeds)


def _over_seeds(folder: Path, systems: list[System], of: str, over: str, metrics: list[str]) -> Iterator[Answer]:
    for metric in metrics:
        ours, theirs = (column(system, metric) for system in systems)
        if not ours or not theirs:
            continue
        if len(set(ours)) == len(set(theirs)) == 1:  # a measure of all seeds together, which stands with each
            ours, theirs = ours[:1], theirs[:1]
        means = statistics.fmean(theirs), statistics.fmean(ours)
        gain, says, seeds = f"{100 * (means[1] - means[0]):+.1f}", NO_DIFFERENCE, min(len(ours), len(theirs))
        if seeds < 2:
            gain += ", no interval"
        else:
            interval = stats.ttest_ind(ours, theirs, equal_var=False).confidence_interval(1 - SIGNIFICANT)
            gain += f" ({100 * interval.low:+.1f} to {100 * interval.high:+.1f})"
            says = YES if interval.low > 0 else OPPOSITE if interval.high < 0 else NO_DIFFERENCE
        yield Answer(folder.name, _pair(of, over), metric, _values(*means), gain, says, seeds)


def _pair(of: str, over: str) -> str:
    return f"`{of}` over `{over}`"


def _values(before: float | None, after: float | None) -> str:
    return "" if before is None or after is None else f"{100 * before:.1f} → {100 * after:.1f}"


def _over_a_grid(folder: Path, of: str, metrics: list[str], axis: str) -> Iterator[Answer]:
    variants = sorted({variant for variant, _ in read_results(folder) if variant.startswith(f"{of}_")})
    if len(variants) < 3:  # two points always lie on a line
        return
    systems = load_systems(folder, variants)
    points = [f"{float(system.told('experiment', 'value')):g}" for system in systems]
    for metric in metrics:
        pairs = []
        for system, value in zip(systems, points, strict=True):
            for result in system.results:
                run = System(system.name, [result])
                x = [float(value)] if axis == "value" else column(run, axis)
                pairs += zip(x, column(run, metric), strict=False)  # nothing of a run that lacks one of them
        if len(pairs) < 3:
            continue
        correlated = stats.spearmanr(*np.array(pairs).T)
        correlation = float(correlated.statistic)
        says = NO_DIFFERENCE if correlated.pvalue >= SIGNIFICANT else YES if correlation > 0 else OPPOSITE
        compared = f"`{of}` with {', '.join(sorted(points, key=float))}" + (f", by {axis}" if axis != "value" else "")
        gain, seeds = f"correlation {correlation:+.2f}, {len(pairs)} runs", min(len(s.results) for s in systems)
        yield Answer(folder.name, compared, metric, "", gain, says, seeds)


def verdict(claim: dict[str, Any], replies: list[Answer]) -> str:
    """What the answers come to."""
    if "untestable" in claim:
        reason = claim["untestable"]
        return reason if reason.startswith(NOT_TRIED) else f"{NOT_TESTABLE}: {reason}"
    return _all_say(replies) if replies else NOT_TRIED


def _all_say(replies: list[Answer]) -> str:
    said = {answer.says for answer in replies}
    name = HOLDS if said == {YES} else IN_PART if YES in said else FAILS
    seeds = sorted({answer.seeds for answer in replies})
    if seeds[0] >= ENOUGH:
        return name
    few = f"{seeds[0]} to {seeds[-1]}" if len(seeds) > 1 else str(seeds[0])
    return f"{name} ({few} seed{'s' * (few != '1')})"


def by_dataset(replies: list[Answer]) -> str:
    """What the answers of each data set come to, with the first of them in numbers."""
    of: dict[str, list[Answer]] = {}
    for answer in replies:
        of.setdefault(answer.dataset, []).append(answer)
    return "; ".join(f"{name}: {_all_say(of_dataset)}, {of_dataset[0].in_short}" for name, of_dataset in of.items())


def page(claims: list[dict[str, Any]], results: Path, *, processes: int = 1) -> str:
    """The page, in Markdown."""
    rows, counts = [], dict.fromkeys((HOLDS, IN_PART, FAILS, NOT_TESTABLE, NOT_TRIED), 0)
    details: list[str] = []
    every = each(answers_to, [(claim, results) for claim in claims], processes)
    for claim, found in zip(claims, every, strict=True):
        said = verdict(claim, found)
        counts[max((name for name in counts if said.startswith(name)), key=len)] += 1  # "holds in part" is no "holds"
        rows.append([f"[{claim['claim']}](#{claim['id']})", claim["source"], claim["paper"], by_dataset(found), said])
        details += [f"## {claim['claim']} {{: #{claim['id']} }}", ""]
        details += [f"{claim['source']}. The paper: {claim['paper']}. Here: **{said}**.", ""]
        details += [claim["caution"].strip(), ""] if "caution" in claim else []
        if found:
            details += [*markdown_rows(list(MEASURED), [reply.row for reply in found]), ""]
    counted = ", ".join(f"{name} {number}" for name, number in counts.items() if number)
    return "\n".join([
        "# Claims of the papers", "",
        "Made by `python benchmarks/claims.py` from `benchmarks/claims.yaml` and `benchmarks/results`; "
        "do not edit.", "",
        "002 is the paper on language models and two stages, 001 the first PLANT (AWD-LSTM), 000 the later abstract. "
        "Gains are in points with 95 % intervals, paired over documents where they were kept; the first of each data "
        "set stands here, all of them and what was compared below. A verdict says how many seeds are behind its rows "
        "where some have fewer than five. `claims` are experiments of the network alone, no linear model beside it; "
        "what their variants are stands on the page of results.", "",
        f"{len(claims)} claims: {counted}.", "",
        *markdown_rows(["claim", "source", "the paper", "here, by data set", "verdict"], rows), "",
        *details,
    ])  # fmt: skip


def main() -> int:
    """Write or check the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    check, results = parser.parse_args().check, HERE / "results"
    pages_made, claims = MadeFrom(HERE / "tables" / "made_from.json"), load_claims()
    sources_read = [path for name in names_in(results) for path in files_of(results / name)]
    sources = digest(results, sources_read, digest_of_code(), claims)
    if pages_made.is_current(PAGE, sources):
        return 0
    if check:
        print(f"{PAGE.name} is out of date; run python benchmarks/claims.py", file=sys.stderr)
        return 1
    PAGE.write_text(page(claims, results, processes=-1), encoding="utf-8")
    pages_made.write([(PAGE, sources)])
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
