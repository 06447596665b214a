from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")
from made_up_tables import ROWS, write_dataset, write_parquet

from plant_plugin.data.tables import Columns, Table, read_any
from plant_plugin.errors import DataError, MissingExtraError


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


def test_rows_of_arrow_are_counted_and_their_columns_named(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "a.parquet", [{"text": "a", "labels": ["A"]}, {"text": None, "labels": []}])
    with pytest.raises(DataError, match=r"a\.parquet, row 2: the text under 'text' is empty"):
        read_any(path)
    with pytest.raises(DataError, match="there is no column 'note'"):
        read_any(path, text_column="note")


def test_new_documents_come_from_parquet_and_saved_datasets_too(tmp_path: Path) -> None:
    for path in (write_parquet(tmp_path / "a.parquet"), write_dataset(tmp_path / "a")):
        assert [(document.name, document.text) for document in Table(path, None, Columns(labels=None))] == [
            (row["id"], row["text"]) for row in ROWS
        ]
    unlabelled = write_parquet(tmp_path / "b.parquet", [{"note": "one"}, {"note": "two"}])
    found = Table(unlabelled, None, Columns("note", None))
    assert [(document.name, document.text) for document in found] == [("1", "one"), ("2", "two")]


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
