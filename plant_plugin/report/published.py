"""Published results to set beside one's own: what papers report, from ``published.yml``; none of it was run here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Literal

import yaml

from plant_plugin.errors import ConfigError
from plant_plugin.evaluation.names import CLASSIFIED

FILE = Path(__file__).with_name("published.yml")


@dataclass
class Source:
    """A paper."""

    cite: str
    protocol: str  # how its numbers came about, where that differs from ours


@dataclass
class Benchmark:
    """The task and data of several papers' numbers."""

    field: Literal["icd", "xmc"]  # whose columns are shown
    what: str
    test: int | None = None  # documents of its test split


@dataclass
class PaperTable:
    """A table of a paper, as far as it is of one benchmark."""

    benchmark: str
    source: str
    trained: list[str]  # systems that the paper itself trained
    metrics: list[str]  # names as in results, thresholds left out
    rows: dict[str, list[float | None]]  # system -> percent, in the order of the metrics
    table: str = ""  # where in the paper
    split: str = "test"
    macro_f1: dict[str, list[str]] = field(default_factory=dict)  # definition -> systems whose Macro-F1 is of it
    notes: str = ""

    def values(self, system: str) -> dict[str, float]:
        """Return a system's fractions by metric; which macro-F1 it is depends on the system."""
        macro_f1 = next((name for name, systems in self.macro_f1.items() if system in systems), "Macro-F1")
        pairs = zip(self.metrics, self.rows[system], strict=True)
        return {macro_f1 if name == "Macro-F1" else name: round(p / 100, 6) for name, p in pairs if p is not None}


@dataclass
class Content:
    """The file."""

    sources: dict[str, Source]
    benchmarks: dict[str, Benchmark]
    tables: list[PaperTable]


@dataclass
class PublishedRow:
    """A system's row."""

    system: str
    values: dict[str, float]  # by metric, fractions
    tables: list[int]  # numbers of the tables that it is from, from 1

    @property
    def name(self) -> str:
        """Return the system, marked as not run here, with the numbers of its tables."""
        return f"{self.system} (published, {', '.join(map(str, self.tables))})"

    def value(self, column: str) -> float | None:
        """Return a column of results, a fraction.

        F1, precision and recall are those at the paper's threshold, whatever the column's.
        """
        family = column.partition("@")[0]
        return self.values.get(column, None if ":" in column else self.values.get(family))

    def shown(self, column: str) -> str:
        """Write it in percent with one decimal; an en dash where it is not reported."""
        return "–" if (value := self.value(column)) is None else f"{100 * value:.1f}"


@dataclass
class Published:
    """Results of one benchmark in papers."""

    benchmark: Benchmark
    rows: list[PublishedRow] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)  # sentences: what each numbered table is, then how protocols differ

    @property
    def heading(self) -> str:
        """Return the heading of the notes."""
        protocol = "not run again and not tested, with F1, precision and recall at the papers' thresholds"
        return f"Published of {self.benchmark.what}: {protocol}"

    def other_documents(self, number: object) -> list[str]:
        """Return a sentence where one's results are of another number of test documents, else nothing."""
        theirs = self.benchmark.test
        if theirs in (None, number):
            return []
        return [
            f"published results are of {theirs:,} test documents, those compared here of {number:,}: not one benchmark"
        ]

    def columns(self, shown: Sequence[str]) -> list[str]:
        """Return columns of results and, after them, what else the papers report.

        Theirs are at thresholds for macro- or micro-F1.
        """
        shown_already = {part for column in shown for part in (column, column.partition("@")[0])}
        rest = dict.fromkeys(metric for row in self.rows for metric in row.values if metric not in shown_already)
        return [*shown, *(f"{metric}@{metric[:5].lower()}" if metric in CLASSIFIED else metric for metric in rest)]


@cache
def content() -> Content:
    """Read the file."""
    from pydantic import TypeAdapter

    return TypeAdapter(Content).validate_python(yaml.safe_load(FILE.read_text(encoding="utf-8")))


def published(benchmark: str) -> Published:
    """Read what papers report of a benchmark; where two tables agree on a system, it is one row.

    Raises:
        ConfigError: Nothing is known of it; the message names what is.
    """
    held = content()
    if benchmark not in held.benchmarks:
        fix = f"choose one of {', '.join(held.benchmarks)}"
        raise ConfigError(f"there are no published results of {benchmark!r}", where="--published", fix=fix)
    published_results = Published(held.benchmarks[benchmark])
    protocols: dict[str, list[str]] = {}
    for number, table in enumerate((table for table in held.tables if table.benchmark == benchmark), start=1):
        source = held.sources[table.source]
        protocols.setdefault(source.protocol, []).append(str(number))
        named = ", ".join(table.trained) or "none"
        trained = "" if table.trained == list(table.rows) else f"its own: {named}, the others as it reports them"
        cited = f"{source.cite}, {table.table}" if table.table else source.cite
        parts = (cited, trained, table.notes)
        published_results.notes.append(f"{number}: " + "; ".join(part for part in parts if part))
        for system in table.rows:
            values = table.values(system)
            namesakes = (row for row in published_results.rows if row.system == system)
            alike = (row for row in namesakes if row.values | values == values | row.values)  # where both tell, alike
            if (other := next(alike, None)) is None:
                published_results.rows.append(PublishedRow(system, values, [number]))
            else:
                other.values.update(values)
                other.tables.append(number)
    published_results.notes += [f"{', '.join(numbers)}: {protocol}" for protocol, numbers in protocols.items()]
    return published_results
