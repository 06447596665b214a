"""CSV, JSON lines, Parquet and saved ``datasets``: the same documents, and errors that say which row."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from plant_plugin.cli import libmultilabel, plant
from plant_plugin.config import load_config
from plant_plugin.data.documents import load_corpus
from plant_plugin.data.evidence import evidence_beside, read_evidence, text_beside
from plant_plugin.data.label_names import label_names
from plant_plugin.data.new_documents import Documents as NewDocuments
from plant_plugin.data.tables import (
    Columns,
    Row,
    Table,
    form_of,
    read_any,
)
from plant_plugin.errors import DataError, MissingExtraError

pyarrow = pytest.importorskip("pyarrow")

ROWS: list[dict[str, Any]] = [
    {"id": "a", "text": 'fever, "cough"\nand pain', "labels": ["R50.9", "R05"]},
    {"id": "b", "text": "all well", "labels": []},
    {"id": "c", "text": "número uno", "labels": ["Heart failure"]},
]
LABELS = [["R50.9", "R05"], [], ["Heart_failure"]]
SECRET = "Jane Roe"  # must be in no message


def write_csv(path: Path, rows: Sequence[dict[str, Any]] = ROWS) -> Path:
    opened: Callable[..., Any] = gzip.open if path.suffix == ".gz" else open
    with opened(path, "wt", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows({**row, "labels": ";".join(row["labels"]) + ";" * (len(row["labels"]) == 1)} for row in rows)
    return path


def write_jsonl(path: Path, rows: Sequence[dict[str, Any]] = ROWS) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def write_parquet(path: Path, rows: Sequence[dict[str, Any]] = ROWS) -> Path:
    from pyarrow import parquet

    parquet.write_table(pyarrow.Table.from_pylist(list(rows)), path)
    return path


def write_dataset(folder: Path, rows: Sequence[dict[str, Any]] = ROWS, metadata: dict[str, str] | None = None) -> Path:
    """What ``datasets`` saves of a split: Arrow streams, and a file that names them."""
    folder.mkdir()
    names = [f"data-{number:05}-of-00002.arrow" for number in range(2)]
    for name, part in zip(names, (rows[:1], rows[1:]), strict=True):
        table = pyarrow.Table.from_pylist(list(part), schema=pyarrow.Table.from_pylist(list(rows)).schema)
        table = table.replace_schema_metadata(metadata)
        with pyarrow.OSFile(str(folder / name), "wb") as sink, pyarrow.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
    (folder / "cache-0123.arrow").write_bytes(b"what map() left there")
    (folder / "state.json").write_text(json.dumps({"_data_files": [{"filename": name} for name in names]}))
    return folder


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
    path.write_text('{"note": "one", "codes": "I10 E11.9"}\n\n{"note": "two", "codes": "Heart failure; Old age"}\n')
    found = read_any(path, text_column="note", labels_column="codes")
    assert found.labels == [["I10", "E11.9"], ["Heart_failure", "Old_age"]]
    assert found.ids is None
    config = {"model_name": "PLANT", "network_config": {"encoder": "cnn"}, "val_size": 0, "training_file": str(path)}
    corpus = load_corpus(load_config(None, {**config, "text_column": "note", "labels_column": "codes"}))
    assert corpus.label_names == ["E11.9", "Heart_failure", "I10", "Old_age"]


def test_class_labels_of_hugging_face_become_names(tmp_path: Path) -> None:
    rows = [{"text": "a", "labels": [1, 0]}, {"text": "b", "labels": [2]}]
    feature = {"feature": {"names": ["no", "yes", "may be"], "_type": "ClassLabel"}, "_type": "Sequence"}
    told = {"huggingface": json.dumps({"info": {"features": {"labels": feature}}})}
    assert read_any(write_dataset(tmp_path / "d", rows, told)).labels == [["yes", "no"], ["may_be"]]
    assert read_any(write_dataset(tmp_path / "e", rows)).labels == [["1", "0"], ["2"]]
    unlabelled = write_dataset(tmp_path / "f", [*rows, {"text": "c", "labels": [-1]}], told)
    assert read_any(unlabelled).labels == [["yes", "no"], ["may_be"], []]
    for name, wrong in (("g", [7]), ("h", [None, 1])):
        folder = write_dataset(tmp_path / name, [rows[0], {"text": "b", "labels": wrong}], told)
        with pytest.raises(DataError, match=r"00001-of-00002\.arrow, row 1: a label that is none of the 3"):
            read_any(folder)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", f"text,labels\n{SECRET},A\n{SECRET},A,B\n", "line 3: 3 columns where the header has 2"),
        ("a.csv", f"body,labels\n{SECRET},A\n", "line 1: there is no column 'text'"),
        ("a.csv", f"text,labels,text\n{SECRET},A,b\n", "line 1: several columns are called 'text'"),
        ("a.csv", f'text,labels\n"{SECRET}"x,A\n', "line 2: no row of a table"),
        ("a.csv", "text,labels\n", "holds no document"),
        ("a.csv", f"\ntext,labels\n{SECRET},A,B\n", "line 3: 3 columns where the header has 2"),
        ("a.jsonl", f'{{"id": "\\ud800", "text": "{SECRET}", "labels": []}}\n', "line 1: not valid UTF-8"),
        ("a.jsonl", f'{{"text": "{SECRET}"', "line 1: no JSON object"),
        ("a.jsonl", f'{{"text": "{SECRET}", "labels": {{"A": 1}}}}\n', "line 1: what stands under 'labels'"),
        ("a.jsonl", f'{{"text": ["{SECRET}"], "labels": []}}\n', "line 1: the text under 'text' is a list"),
        ("a.csv", f"text,labels\n{SECRET},\"['A', 'B']\"\n", "line 2: what stands under 'labels' is a list written as"),
        ("a.csv", f'text,labels\n{SECRET},"A, B"\n', "line 2: what stands under 'labels' is a list written as"),
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


def test_rows_of_arrow_are_counted_and_their_columns_named(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "a.parquet", [{"text": "a", "labels": ["A"]}, {"text": None, "labels": []}])
    with pytest.raises(DataError, match=r"a\.parquet, row 2: the text under 'text' is empty"):
        read_any(path)
    with pytest.raises(DataError, match="there is no column 'note'"):
        read_any(path, text_column="note")


def test_what_is_no_text_is_told_also_where_it_is_trained_on(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("A\tone\n".encode("utf-16-le"))
    with pytest.raises(DataError, match="line 1: a NUL byte: this is no text"):
        read_any(tmp_path / "a.txt")


def test_new_documents_come_from_parquet_and_saved_datasets_too(tmp_path: Path) -> None:
    for path in (write_parquet(tmp_path / "a.parquet"), write_dataset(tmp_path / "a")):
        assert [(document.id, document.text) for document in NewDocuments(str(path))] == [
            (row["id"], row["text"]) for row in ROWS
        ]
    unlabelled = write_parquet(tmp_path / "b.parquet", [{"note": "one"}, {"note": "two"}])
    found = NewDocuments(str(unlabelled), columns=Columns("note"))
    assert [(document.id, document.text) for document in found] == [("1", "one"), ("2", "two")]


def test_another_separator(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('text;labels\n"one; two";A B\n')
    table = Table(tmp_path / "a.csv", "csv", Columns(), separator=";")
    assert list(table.documents()) == [Row("one; two", ["A", "B"])]


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


def test_a_folder_of_splits_says_which_to_name(tmp_path: Path) -> None:
    write_dataset(tmp_path / "train")
    with pytest.raises(DataError, match=r"name a split of it, e\.g\. .*train"):
        read_any(tmp_path)
    with pytest.raises(DataError, match="no such file"):
        read_any(tmp_path / "nowhere")
    state = {"_data_files": [{"filename": "../../data-00000-of-00002.arrow"}], "_indices_files": [{"filename": "i"}]}
    (tmp_path / "train" / "state.json").write_text(json.dumps(state))
    with pytest.raises(DataError, match="flatten_indices"):
        read_any(tmp_path / "train")
    (tmp_path / "train" / "state.json").write_text("{}")
    with pytest.raises(DataError, match=r"state\.json: does not name"):
        read_any(tmp_path / "train")


def test_parquet_files_of_a_folder_are_one_split(tmp_path: Path) -> None:
    for number in range(2):
        write_parquet(tmp_path / f"train-{number:05}.parquet")
    assert len(read_any(tmp_path).texts) == 6
    write_parquet(tmp_path / "test-00000-of-00001.parquet")  # as on Hugging Face's hub, in one folder
    with pytest.raises(DataError, match=r"several splits: test-00000-of-00001\.parquet, train-00001\.p"):
        read_any(tmp_path)


def test_parquet_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_parquet(tmp_path / "a.parquet")
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match="prepare"):
        read_any(path)


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
