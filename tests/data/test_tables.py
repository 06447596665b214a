"""CSV, JSON lines, Parquet and saved ``datasets``: the same documents, and errors that say which row."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from plant_plugin.cli import libmultilabel, plant
from plant_plugin.config import load_config
from plant_plugin.data.columns import Columns
from plant_plugin.data.documents import load_corpus
from plant_plugin.data.evidence import evidence_beside, read_evidence, text_beside
from plant_plugin.data.label_names import label_names
from plant_plugin.data.tables import Table, form_of, read_any
from plant_plugin.errors import DataError

pytest.importorskip("pyarrow")
from made_up_tables import ROWS, write_csv, write_dataset, write_jsonl, write_parquet

LABELS = [["R50.9", "R05"], [], ["Heart_failure"]]
SECRET = "Jane Roe"  # must be in no message

WRITERS = {
    "my.csv": (write_csv, "csv"),
    "my.csv.gz": (write_csv, "csv"),
    "my.jsonl": (write_jsonl, "jsonl"),
    "my.parquet": (write_parquet, "parquet"),
    "my": (write_dataset, "datasets"),
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_form_holds_the_same_documents(tmp_path: Path, name: str) -> None:
    write, form = WRITERS[name]
    path = write(tmp_path / name)
    for found in (read_any(path, form=form), read_any(path)):
        assert found.texts == [row["text"] for row in ROWS]
        assert found.labels == LABELS
        assert found.ids == ["a", "b", "c"]
        assert (len(found), found.without_labels) == (3, 1)


def test_the_ending_says_what_a_file_is(tmp_path: Path) -> None:
    assert [form_of(Path(name)) for name in ("a.txt", "a.csv", "a.CSV.xz", "a.ndjson", "a.parquet", "a")] == [
        "txt", "csv", "csv", "jsonl", "parquet", "txt",
    ]  # fmt: skip
    assert form_of(tmp_path) == "datasets"


def test_labels_in_a_text_and_columns_by_name(tmp_path: Path) -> None:
    path = tmp_path / "my.jsonl"
    path.write_text('{"note": "one", "codes": "I10; E11.9"}\n\n{"note": "two", "codes": "Heart failure; Old age"}\n')
    found = read_any(path, text_column="note", labels_column="codes")
    assert found.labels == [["I10", "E11.9"], ["Heart_failure", "Old_age"]]
    assert found.ids is None
    config = {"model_name": "PLANT", "network_config": {"encoder": "cnn"}, "val_size": 0, "training_file": str(path)}
    corpus = load_corpus(load_config(None, {**config, "text_column": "note", "labels_column": "codes"}))
    assert corpus.label_names == ["E11.9", "Heart_failure", "I10", "Old_age"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", f"text,labels\n{SECRET},A\n{SECRET},A,B\n", "line 3: columns: 3, and the header has 2"),
        ("a.csv", f"body,labels\n{SECRET},A\n", "line 1: there is no column 'text'"),
        ("a.csv", f"text,labels,text\n{SECRET},A,b\n", "line 1: several columns are called 'text'"),
        ("a.csv", f'text,labels\n"{SECRET}"x,A\n', "line 2: no row of a table"),
        ("a.csv", "text,labels\n", "holds no document"),
        ("a.csv", f"\ntext,labels\n{SECRET},A,B\n", "line 3: columns: 3, and the header has 2"),
        ("a.jsonl", f'{{"id": "\\ud800", "text": "{SECRET}", "labels": []}}\n', "line 1: not valid UTF-8"),
        ("a.jsonl", f'{{"text": "{SECRET}"', "line 1: no JSON object"),
        ("a.jsonl", f'{{"text": "{SECRET}", "labels": {{"A": 1}}}}\n', "line 1: the content of 'labels'"),
        ("a.jsonl", f'{{"text": ["{SECRET}"], "labels": []}}\n', "line 1: the text under 'text' is a list"),
        ("a.csv", f"text,labels\n{SECRET},\"['A' 'B']\"\n", "line 2: the labels are a list written as text"),
        ("a.csv", f'text,labels\n{SECRET},"A, B"\n', "a.csv: commas and spaces in the labels"),
        ("a.jsonl", '{"text": null, "labels": []}\n', "line 1: the text under 'text' is empty"),
        ("a.jsonl", '{"text": "\\ud800", "labels": []}\n', "line 1: not valid UTF-8"),
        ("a.jsonl", f'{{"text": "{SECRET}", "label": []}}\n', "did you mean label"),
        ("a.parquet", SECRET, "no Parquet file"),
    ],
)
def test_what_is_wrong_is_told_with_its_row_and_without_its_text(
    tmp_path: Path, name: str, content: str, message: str
) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(DataError) as caught:
        read_any(tmp_path / name)
    assert message in caught.value.message
    assert name in caught.value.message
    assert SECRET not in caught.value.message


def test_bytes_of_another_encoding_are_told(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes("text,labels\nnúmero,A\n".encode("latin-1"))
    with pytest.raises(DataError, match="line 2: not valid UTF-8"):
        read_any(tmp_path / "a.csv")


def test_what_is_no_text_is_told_also_where_it_is_trained_on(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("A\tone\n".encode("utf-16-le"))
    with pytest.raises(DataError, match=r"a\.txt: the file is UTF-16 without a mark"):
        read_any(tmp_path / "a.txt")


def test_bad_lines_are_left_out_on_request(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("text,labels\none,A\ntwo,A,B\nthree,B\n")
    found = read_any(tmp_path / "a.csv", allow_bad_lines=True)
    assert (found.texts, found.dropped) == (["one", "three"], 1)


@pytest.mark.parametrize("content", ["note,labels\none,A\n", '{"note": "one", "labels": ["A"]}\n'])
def test_a_missing_column_is_named_also_where_bad_lines_are_left_out(tmp_path: Path, content: str) -> None:
    path = tmp_path / ("a.jsonl" if content.startswith("{") else "a.csv")
    path.write_text(content)
    with pytest.raises(DataError, match="line 1: there is no column 'text'"):
        read_any(path, allow_bad_lines=True)


def test_an_empty_line_before_the_header_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("\ntext,labels\n\none,A\n")
    assert read_any(tmp_path / "a.csv").labels == [["A"]]


def test_labels_with_spaces_are_the_same_in_every_file(tmp_path: Path) -> None:
    rows = [{"text": f"failing {number}", "labels": ["Heart failure"]} for number in range(5)]
    path = write_jsonl(tmp_path / "train.jsonl", rows)
    (tmp_path / "labels.txt").write_text("Heart failure\n")
    (tmp_path / "label_names.tsv").write_text("Heart failure\tit fails\n")
    evidence_beside(path).write_text("0\tHeart failure\t0-7\n")
    config = {"model_name": "PLANT", "network_config": {"encoder": "cnn"}, "training_file": str(path)}
    corpus = load_corpus(load_config(None, {**config, "val_size": 0, "label_file": str(tmp_path / "labels.txt")}))
    assert corpus.label_matrix(corpus.train).sum() == 5
    assert label_names([str(tmp_path / "label_names.tsv")])("Heart_failure") == "it fails"
    assert text_beside(evidence_beside(path)) == path
    assert read_evidence(evidence_beside(path), read_any(path))[0] == {"Heart_failure": [(0, 7)]}


def many(documents: int) -> list[dict[str, Any]]:
    return [
        {"text": f"sign{row % 4}x and some filler{row % 3} words", "labels": [f"L{row % 4}"]}
        for row in range(documents)
    ]


def test_stats_count_tables(tmp_path: Path) -> None:
    told = CliRunner().invoke(plant, ["stats", str(write_jsonl(tmp_path / "a.jsonl", many(40)))])
    assert told.exit_code == 0, told.output
    assert "documents" in told.output
    assert " 40\n" in told.output


def test_stats_take_the_columns_by_name(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("note,codes\npressure high,I10\n")
    named = ["--text_column", "note", "--labels_column", "codes"]
    assert CliRunner().invoke(plant, ["stats", str(tmp_path / "a.csv"), *named]).exit_code == 0
    refused = CliRunner().invoke(plant, ["stats", str(tmp_path / "a.csv")])
    assert "there is no column 'text'" in refused.output


@pytest.mark.parametrize("config", ["linear_demo.yml", "plant.yml"])
def test_a_run_on_tables(tmp_path: Path, config: str) -> None:
    train, test = write_dataset(tmp_path / "train", many(80)), write_csv(tmp_path / "my_test.csv", many(20))
    flags = ["--training_file", str(train), "--test_file", str(test), "--result_dir", str(tmp_path / "runs")]
    flags += ["--cache_dir", str(tmp_path / "cache"), "--silent", "--val_size", "0.2"]
    if config == "plant.yml":
        flags += ["--strategy", "planted_scores", "--cpu", "--predict_out_path", ""]
    else:
        flags += ["--val_file", str(test), "--monitor_metrics", "P@1"]
    made = CliRunner().invoke(libmultilabel, ["--config", config, *flags])
    assert made.exit_code == 0, made.output
    (result,) = (tmp_path / "runs").glob("*/result.json")
    assert json.loads(result.read_text())["metrics"]["P@1"] == 1


def test_reading_takes_about_what_the_texts_take(tmp_path: Path) -> None:
    path = tmp_path / "long.txt"
    path.write_text("".join(f"I{10 + row % 90}\t" + "word of a text " * 700 + "\n" for row in range(300)))
    read_any(path)  # imports
    tracemalloc.start()
    documents = read_any(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(documents) == 300
    assert peak < 2 * path.stat().st_size  # the words of all texts as a list are ten times as much


def test_names_of_columns_may_have_spaces_around_them_and_a_separator_is_written_as_t(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text('text , labels\nfever today,"a b\tc"\n')
    assert read_any(tmp_path / "t.csv", label_separator="\\t").labels == [["a_b", "c"]]


def test_an_object_that_is_shown_has_the_keys_that_are_read(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text('{"text": "a", "text": "b"}')
    with pytest.raises(DataError, match=r'an object like \{"text": "…"\}'):
        list(Table(tmp_path / "t.json", columns=Columns(labels=None)))
