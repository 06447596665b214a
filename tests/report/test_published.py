"""Published results: the file, its numbers beside the papers' own text, and what two papers say of one system."""

from __future__ import annotations

import dataclasses
import re
from collections import defaultdict
from pathlib import Path

import pytest
import yaml

from plant_plugin.errors import ConfigError
from plant_plugin.evaluation.names import CLASSIFIED, parse_metric
from plant_plugin.report import published as module
from plant_plugin.report.compare import FIELDS
from plant_plugin.report.published import Benchmark, Content, PaperTable, Source, content, published

DATA = "data/README.md"
TEXTS = {  # of the other sources no text is at hand: what they tell of a system is compared with what others do
    "plant_l2r": "seeds/001_*.txt", "plant": "seeds/002_*.txt",
    "codiesp": DATA, "codiesp_transformers": DATA, "libmultilabel": DATA,
}  # fmt: skip
DIFFERENT = {  # copies of one system's figures that differ, as they stand there
    ("mimic3_full", "Effective-CAN"): {"AUC-macro", "AUC-micro"},
    ("mimic3_full", "JointLAAT + Contrastive"): {"Macro-F1", "Micro-F1", "P@8", "P@15"},
    ("mimic4_icd10", "PLM-ICD"): {"AUC-macro", "AUC-micro"},
    ("eurlex4k", "MatchXML"): {"P@1", "P@3", "P@5"},
    ("wiki10_31k", "MatchXML"): {"P@1", "P@3", "P@5"},
    ("wiki10_31k", "XML-CNN"): {"P@1"},
}
WORDS = {"three pre-trained transformers, ensemble": "ensemble"}  # our words for what the text calls otherwise


def test_the_file_has_no_key_that_nobody_reads() -> None:
    written = yaml.safe_load(module.FILE.read_text(encoding="utf-8"))
    for kind, entries in (
        (Content, [written]),
        (Source, written["sources"].values()),
        (Benchmark, written["benchmarks"].values()),
        (PaperTable, written["tables"]),
    ):
        known = {field.name for field in dataclasses.fields(kind)}
        assert all(set(entry) <= known for entry in entries), kind


def test_metrics_are_known_values_are_percent_and_nothing_is_told_twice() -> None:
    held, told = content(), set()
    for table in held.tables:
        assert set(table.trained) <= set(table.rows)
        for metric in table.metrics:
            assert parse_metric(metric).family == metric or parse_metric(metric).canonical == metric
            assert ("@" in metric) == (parse_metric(metric).k is not None)  # a paper's threshold is its own
        assert set(table.macro_f1) <= {"Macro-F1-caml", "Macro-F1-present"}
        for system, row in table.rows.items():
            for metric, value in zip(table.metrics, row, strict=True):
                if value is not None:
                    assert 0 <= value <= 100
                    key = (system, table.benchmark, table.split, metric, table.source)
                    assert key not in told
                    told.add(key)
    assert {table.source for table in held.tables} == set(held.sources)
    assert {table.benchmark for table in held.tables} == set(held.benchmarks)
    assert {table.split for table in held.tables} == {"test"}
    assert {benchmark.field for benchmark in held.benchmarks.values()} == set(FIELDS)


def test_copies_of_a_systems_figures_agree_but_where_it_is_known() -> None:
    told: dict[tuple[str, str], dict[str, set[float]]] = defaultdict(lambda: defaultdict(set))
    for table in content().tables:
        for system in set(table.rows) - set(table.trained):
            for metric, value in zip(table.metrics, table.rows[system], strict=True):
                if value is not None:
                    told[table.benchmark, system][metric.removesuffix("-present")].add(value)
    several = {key: {metric for metric, values in row.items() if len(values) > 1} for key, row in told.items()}
    assert {key: metrics for key, metrics in several.items() if metrics} == DIFFERENT


def test_no_system_has_one_macro_f1_in_two_columns() -> None:
    for benchmark in content().benchmarks:
        for row in published(benchmark).rows:
            assert sum(metric.startswith("Macro-F1") for metric in row.values) <= 1, (benchmark, row.name)


@pytest.mark.integration
def test_every_number_stands_in_the_text_that_it_is_said_to_be_from(shared: Path) -> None:
    for table in (table for table in content().tables if table.source in TEXTS):
        found = sorted(shared.glob(TEXTS[table.source]))
        if not found:
            pytest.skip("needs the papers beside the data")
        lines = found[0].read_text(encoding="utf-8").splitlines()
        for system, row in table.rows.items():
            assert any(_tells(line, system, row) for line in lines), (table.source, table.table, system)


def _tells(line: str, system: str, row: list[float | None]) -> bool:
    """Whether a line of a table names a system and holds its numbers and dashes, next to each other and in order."""
    line = re.sub(r"\([^)]*\)|\*|</?[a-z]+>", "", line.replace("(/w ", "+ ").replace("(fw ", "+ "))
    names, *_ = cells = [cell.strip() for cell in re.split(r"[\t|]", line.strip(" |"))]
    named = re.sub(r"[^a-z0-9]", "", names.lower())
    words = (re.sub(r"[^a-z0-9]", "", word.lower()) for word in WORDS.get(system, system).split())
    told = [re.match(r"\d+\.\d+|[-–]$", cell) for cell in cells[1:]]
    numbers = [None if match[0] in "-–" else float(match[0]) for match in told if match]
    width = range(len(numbers) - len(row) + 1)
    return all(word in named for word in words) and any(numbers[start : start + len(row)] == row for start in width)


def test_a_line_of_a_table_is_read_with_its_dashes() -> None:
    line = r"<b>Mistral-7B + PLANT (Ours)</b>	98.1 $\blacktriangle$ (+7.3)	-	**14.7**	64.1"
    assert _tells(line, "Mistral-7B + PLANT", [98.1, None, 14.7])
    assert not _tells(line, "Mistral-7B + PLANT", [98.1, 14.7])
    assert not _tells(line, "Phi-3 + PLANT", [98.1, None, 14.7])
    assert _tells("| KimCNN | 20.08 | 69.91 |", "KimCNN", [69.91])


def test_systems_that_two_papers_agree_on_are_one_row(monkeypatch: pytest.MonkeyPatch) -> None:
    sources = {name: Source(f"They, {name}", protocol) for name, protocol in (("A", "odd"), ("B", "odd"), ("C", ""))}
    tables = [
        PaperTable(
            "one", "A", ["X"], ["P@1", "Macro-F1"], {"X": [50.0, 8.8], "Y": [40.0, None]}, "Table 2",
            macro_f1={"Macro-F1-caml": ["X"]},
        ),
        PaperTable(
            "one", "B", ["Z"], ["P@1", "P@5"], {"Z": [1.5, 1.0], "Y": [40.0, 20.0], "X": [51.0, 9.0]}, notes="n"
        ),
        PaperTable("two", "C", [], ["P@1", "Macro-F1"], {"X": [60.0, 7.0]}),
    ]  # fmt: skip
    held = Content(sources, {name: Benchmark("xmc", name) for name in ("one", "two")}, tables)
    monkeypatch.setattr(module, "content", lambda: held)
    found = published("one")
    assert [(row.name, row.values) for row in found.rows] == [
        ("X (published, 1)", {"P@1": 0.5, "Macro-F1-caml": 0.088}),
        ("Y (published, 1, 2)", {"P@1": 0.4, "P@5": 0.2}),
        ("Z (published, 2)", {"P@1": 0.015, "P@5": 0.01}),
        ("X (published, 2)", {"P@1": 0.51, "P@5": 0.09}),
    ]
    assert found.notes == [
        "1: They, A, Table 2; its own: X, the others as it reports them",
        "2: They, B; its own: Z, the others as it reports them; n",
        "1, 2: odd",
    ]
    assert tables[0].rows["Y"] == [40.0, None]
    copied = published("two")
    assert copied.rows[0].values == {"P@1": 0.6, "Macro-F1": 0.07}
    assert copied.notes[0] == "1: They, C; its own: none, the others as it reports them"


def test_a_number_stands_in_the_columns_of_its_definition() -> None:
    [row] = [row for row in published("mimic3_full").rows if row.system == "CAML/DR-CAML"]
    assert row.shown("Macro-F1-caml@macro") == row.shown("Macro-F1-caml@0.5") == "8.8"
    for column in ("Macro-F1@macro", "Macro-F1-caml@macro:1-5", "AUC-macro:1-5", "P@5", "minutes"):
        assert row.shown(column) == "–", column
    assert (row.shown("AUC-macro"), row.value("P@8")) == ("89.7", 0.709)


def test_columns_are_those_of_the_field_and_what_papers_tell_beyond() -> None:
    few = published("mimic3_few").columns(FIELDS["icd"])
    assert few == [*FIELDS["icd"], "Macro-P@macro", "Micro-P@micro", "Macro-R@macro", "Micro-R@micro"]
    assert published("mimic3_rare50").columns(FIELDS["icd"]) == list(FIELDS["icd"])
    assert published("mimic4_icd9").columns(FIELDS["icd"]) == [*FIELDS["icd"], "Macro-F1-present@macro"]
    assert set(CLASSIFIED) >= {"Macro-P", "Micro-R"}


def test_an_unknown_benchmark_names_the_known_ones() -> None:
    with pytest.raises(ConfigError, match="mimic3_rare50, mimic3_few") as error:
        published("mimic5")
    assert "--published" in str(error.value.message)


def test_rare_labels_come_with_their_caution() -> None:
    for benchmark in ("mimic3_rare50", "mimic3_few"):
        *_, caution = published(benchmark).notes
        assert caution.startswith("1, 2: ")
        assert "relevance on all rows" in caution
        assert "checkpoint on test rows" in caution
