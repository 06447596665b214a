"""Write ``benchmarks/tables/claims.md``: the claims of the papers, what they report, what results here say, a verdict.

    python benchmarks/claims.py            # write, where it is out of date (``made_from.py``)
    python benchmarks/claims.py --check    # exit 1 where it is; nothing is computed

``claims.yaml`` says which results can answer a claim, and which question it belongs to. Each metric of each data set is
one answer: better, worse or no difference, as ``plant compare`` says it of seeds and documents, over seeds alone where
a run has one number, or by Spearman's correlation over the runs of a grid, all at 5 %. Where there are too few seeds
(``evaluation/verdict.py``) there is no answer. The verdict counts the answers, of all data sets and of each; nobody
writes it. Every answer stands in ``benchmarks/tables/claims_measured.md``.
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
from kept_results import files_of, load_systems, names_in, read_results, without_chance
from made_from import MadeFrom, digest, digest_of_code
from scipy import stats

from plant_plugin.evaluation.verdict import BETTER, FEWEST, LEVEL, TOO_FEW, interval, verdict
from plant_plugin.report.formats import markdown_rows
from plant_plugin.report.pairs import paired
from plant_plugin.report.systems import System

HERE = Path(__file__).resolve().parent
PAGE, MEASURED_PAGE = HERE / "tables" / "claims.md", HERE / "tables" / "claims_measured.md"
DATASETS = yaml.safe_load((HERE / "datasets.yml").read_text(encoding="utf-8"))
QUESTIONS = {
    "stages": "Are two stages better than one?",
    "networks": "Does every network gain?",
    "few": "What do rare labels and small training sets gain?",
    "teaching": "What teaches attention best?",
    "training": "Which choices of training help?",
    "first": "Which parts of the first PLANT help?",
    "elsewhere": "What cannot be tested here?",
}
KEYS = {"id", "question", "claim", "source", "paper", "caution", "tests", "untestable"}
TESTS = {"gain": {"of", "over", "metrics"}, "seeds": {"of", "over", "metrics"}, "grid": {"of", "metrics", "from"}}
ENOUGH = 5  # seeds; a verdict from fewer says so
DRAWS = 1000  # of seeds
MEASURED = ("compared", "results", "seeds", "metric", "percent", "gain", "verdict")
HOLDS, IN_PART, FAILS, NOT_TESTABLE, NOT_TRIED = (
    "holds", "holds in part", "does not hold", "not testable here", "not tried yet",
)  # fmt: skip
COUNTED = {  # of one claim, and of several
    HOLDS: ("holds", "hold"), IN_PART: ("holds in part", "hold in part"), FAILS: ("does not hold", "do not hold"),
    TOO_FEW: ("has too few seeds", "have too few seeds"), NOT_TESTABLE: ("cannot be tested here",) * 2,
    NOT_TRIED: ("was not tried yet", "were not tried yet"),
}  # fmt: skip


@dataclass(frozen=True)
class Answer:
    """What one metric of one data set says of a claim.

    Attributes:
        results: The folder of results.
        compared: Which variants, or what the metric is to rise with.
        metric: Name.
        values: Of both variants, means over the seeds that both have, in percent; empty for a grid.
        gain: The difference in points, or the correlation.
        interval: Of the difference, in words; how many runs a correlation is of.
        says: What ``evaluation/verdict.py`` says of it.
        seeds: Pairs of runs of one seed; of a grid the fewest that a value has.
    """

    results: str
    compared: str
    metric: str
    values: str
    gain: str
    interval: str
    says: str
    seeds: int

    @property
    def dataset(self) -> str:
        """What its data set is called."""
        return str(DATASETS.get(name := self.results.partition("-")[0], [name])[0])

    @property
    def row(self) -> list[str]:
        """Of the table of a claim."""
        page, gain = f"[{self.results}]({self.results}.md)", f"{self.gain} ({self.interval})"
        return [self.compared, page, str(self.seeds), self.metric, self.values, gain, self.says]


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
        if set(claim) - KEYS or not {"id", "question", "claim", "source", "paper"} <= set(claim):
            keys = ", ".join(sorted(KEYS))
            raise ValueError(f"{where}: keys are {keys}; id, question, claim, source and paper have to be there")
        if claim["question"] not in QUESTIONS:
            raise ValueError(f"{where}: a question is one of {', '.join(QUESTIONS)}")
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
        if len(systems) == 2:
            yield from (_over_documents if kind == "gain" else _over_seeds)(folder, paired(*systems), metrics)


def _over_documents(folder: Path, systems: list[System], metrics: list[str]) -> Iterator[Answer]:
    of, over = (system.name for system in systems)
    table = tested(systems, over, metrics)
    for metric in table.metrics if table else ():
        if (test := table.cells[of, metric].test) is not None:
            means = table.cells[over, metric].mean, table.cells[of, metric].mean
            said = _gain(test.gain), _interval(test.low, test.high), test.verdict, test.seeds
            yield Answer(folder.name, _pair(of, over), metric, _values(*means), *said)


def _over_seeds(folder: Path, systems: list[System], metrics: list[str]) -> Iterator[Answer]:
    for metric in metrics:
        ours, theirs = (column(system, metric) for system in systems)
        number = min(len(ours), len(theirs))
        if not number:
            continue
        ours, theirs = ours[:number], theirs[:number]
        if len(set(ours)) == len(set(theirs)) == 1:  # a measure of all seeds together, which stands with each
            ours, theirs = ours[:1], theirs[:1]
        means, gains = (statistics.fmean(theirs), statistics.fmean(ours)), np.subtract(ours, theirs)[:, None]
        (low,), (high,) = interval(gains, np.broadcast_to(gains, (DRAWS, *gains.shape)))
        says = verdict(means[1] - means[0], len(ours), beyond_chance=bool(low > 0 or high < 0))
        ends = "no interval" if says == TOO_FEW else _interval(low, high)
        compared = _pair(*(system.name for system in systems))
        gain = _gain(means[1] - means[0])
        yield Answer(folder.name, compared, metric, _values(*means), gain, ends, says, len(ours))


def _gain(gain: float) -> str:
    return f"{100 * gain:+.1f}"


def _interval(low: float, high: float) -> str:
    return f"{100 * low:+.1f} to {100 * high:+.1f}"


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
        seeds = min(len(system.results) for system in systems)
        says = verdict(correlated.statistic, seeds, beyond_chance=bool(correlated.pvalue < 1 - LEVEL))
        compared = f"`{of}` with {', '.join(sorted(points, key=float))}" + (f", by {axis}" if axis != "value" else "")
        gain = f"correlation {correlated.statistic:+.2f}"
        yield Answer(folder.name, compared, metric, "", gain, f"{len(pairs)} runs", says, seeds)


def conclusion(claim: dict[str, Any], replies: list[Answer]) -> str:
    """What the answers come to."""
    if "untestable" in claim:
        reason = claim["untestable"]
        return reason if reason.startswith(NOT_TRIED) else f"{NOT_TESTABLE}: {reason}"
    return _all_say(replies) if replies else NOT_TRIED


def _all_say(replies: list[Answer]) -> str:
    """What answers come to, with their seeds where some have fewer than enough; those of too few seeds say nothing."""
    answered = [answer for answer in replies if answer.says != TOO_FEW]
    said = {answer.says for answer in answered}
    name = TOO_FEW if not said else HOLDS if said == {BETTER} else IN_PART if BETTER in said else FAILS
    seeds = sorted({answer.seeds for answer in answered or replies})
    without = (
        f", {len(replies) - len(answered)} of {len(replies)} rows {TOO_FEW}" if len(answered) < len(replies) else ""
    )
    if said and seeds[0] >= ENOUGH:
        return name + without
    few = f"{seeds[0]} to {seeds[-1]}" if len(seeds) > 1 else str(seeds[0])
    return f"{name} ({few} seeds){without}" if said else f"{name} ({few})"


def by_dataset(replies: list[Answer]) -> str:
    """What the answers of each data set come to, with the first of them in numbers: of those with enough seeds."""
    of: dict[str, list[Answer]] = {}
    for answer in sorted(replies, key=lambda answer: answer.says == TOO_FEW):
        of.setdefault(answer.dataset, []).append(answer)
    return "; ".join(
        f"{name} {answers[0].metric} {answers[0].gain}, {_all_say(answers)}" for name, answers in of.items()
    )


def pages(claims: list[dict[str, Any]], results: Path, *, processes: int = 1) -> tuple[str, str]:
    """The page of verdicts and the page of all that was measured, in Markdown."""
    every = each(answers_to, [(claim, results) for claim in claims], processes)
    concluded = [(claim, replies, conclusion(claim, replies)) for claim, replies in zip(claims, every, strict=True)]
    return verdicts_page(concluded), measured_page(concluded)


Concluded = list[tuple[dict[str, Any], list[Answer], str]]


def counted(concluded: Concluded) -> str:
    """How many claims come to what, in a sentence."""
    counts = dict.fromkeys(COUNTED, 0)
    for *_, said in concluded:
        counts[max((name for name in COUNTED if said.startswith(name)), key=len)] += 1  # "holds in part" is no "holds"
    parts = [f"{number} {COUNTED[name][number > 1]}" for name, number in counts.items() if number]
    return f"Of {len(concluded)} claims {', '.join(parts)}."


def verdicts_page(concluded: Concluded) -> str:
    """A table for each question."""
    lines = [
        "# Claims of the papers", "",
        "Made by `python benchmarks/claims.py` from `benchmarks/claims.yaml` and `benchmarks/results`; "
        "do not edit.", "",
        f"What the papers on PLANT claim, and what our own runs say of it. {counted(concluded)}", "",
        "- 002 is the paper on language models and two stages, 001 the first PLANT (AWD-LSTM), 000 the later abstract.",
        "- A claim holds if every metric on every data set is better, in part if one is.",
        f"- Gains are points of the first metric. A verdict needs {FEWEST} seeds of both sides. It says how many it "
        f"has where some have fewer than {ENOUGH}, and how many rows have too few.",
        "- Intervals are over seeds and documents (`docs/metrics.md` says how). They stand with every metric in "
        "[what was measured](claims_measured.md), where each claim links to.",
        "- Most runs are of the network alone, with no linear model beside it.", "",
    ]  # fmt: skip
    for question, heading in QUESTIONS.items():
        of_question = [one for one in concluded if one[0]["question"] == question]
        rows = [
            [f"[{claim['claim']}](claims_measured.md#{claim['id']})", claim["paper"], by_dataset(replies), said]
            for claim, replies, said in of_question
        ]
        if rows:
            table = markdown_rows(["claim", "the papers", "here, by data set", "verdict"], rows)
            lines += [f"## {heading}", "", counted(of_question), "", *table, ""]
    return "\n".join(lines)


def measured_page(concluded: Concluded) -> str:
    """Every answer to every claim."""
    lines = [
        "# What was measured of each claim", "",
        "Made by `python benchmarks/claims.py`; do not edit. [The verdicts](claims.md) come from these rows.", "",
        "Gains are in points with 95 % intervals over seeds and documents, of the seeds that both variants have; with "
        "fewer than three, over documents alone and without a verdict. What the variants are stands on the page of "
        "results.", "",
    ]  # fmt: skip
    for claim, replies, said in concluded:
        lines += [f"## {claim['claim']} {{: #{claim['id']} }}", ""]
        lines += [f"{claim['source']}. The paper: {claim['paper']}. Here: **{said}**.", ""]
        lines += [claim["caution"].strip(), ""] if "caution" in claim else []
        if replies:
            lines += [*markdown_rows(list(MEASURED), [reply.row for reply in replies]), ""]
    return "\n".join(lines)


def main() -> int:
    """Write or check the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    check, results = parser.parse_args().check, HERE / "results"
    pages_made, claims = MadeFrom(HERE / "tables" / "made_from.json"), load_claims()
    sources_read = [path for name in names_in(results) for path in files_of(results / name)]
    code = digest_of_code(), Path(__file__).read_text(encoding="utf-8")
    sources = digest(results, sources_read, *code, claims, DATASETS, without_chance())
    written = PAGE, MEASURED_PAGE
    if all(pages_made.is_current(path, sources) for path in written):
        return 0
    if check:
        print(f"{PAGE.name} is out of date; run python benchmarks/claims.py", file=sys.stderr)
        return 1
    for path, text in zip(written, pages(claims, results, processes=-1), strict=True):
        path.write_text(text, encoding="utf-8")
    pages_made.write([(path, sources) for path in written])
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
