from __future__ import annotations

import contextlib
import json
import random
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")
import pyarrow as pa
from made_up_tables import ROWS as TWO
from made_up_tables import write_dataset, write_parquet
from pyarrow import parquet

from plant_plugin.data.arrow_rows import class_names, whole_batch
from plant_plugin.data.tables import Columns, Table, read_any
from plant_plugin.errors import DataError, MissingExtraError

ROWS = [{"text": f"words of document {number}", "labels": [f"L{number}"]} for number in range(40)]


def test_places_of_texts_that_lie_are_an_error(tmp_path: Path) -> None:
    places = pa.py_buffer(b"".join(number.to_bytes(4, "little") for number in (0, 9, 3)))
    lies = pa.StringArray.from_buffers(2, places, pa.py_buffer(b"some words"))
    with pytest.raises(pa.ArrowInvalid):
        whole_batch(pa.record_batch({"text": lies}))
    folder = tmp_path / "split"
    folder.mkdir()
    labels = pa.array([["A"], ["B"]])
    table = pa.table({"text": lies, "labels": labels})
    with pa.ipc.new_stream(folder / "data.arrow", table.schema) as stream:
        stream.write_table(table)
    with pytest.raises(DataError, match=r"data\.arrow: no Arrow file, or cut off"):
        read_any(folder)


def test_flipped_bits_of_parquet_with_checksums_are_found(tmp_path: Path) -> None:
    path, chance = tmp_path / "a.parquet", random.Random(1)
    parquet.write_table(pa.Table.from_pylist(ROWS), path, write_page_checksum=True, compression="none")
    content = path.read_bytes()
    expected = read_any(path).hash()
    for _ in range(60):
        place = chance.randrange(4, len(content) * 2 // 3)
        path.write_bytes(content[:place] + bytes([content[place] ^ 1 << chance.randrange(8)]) + content[place + 1 :])
        with contextlib.suppress(DataError):
            assert read_any(path).hash() == expected


def test_names_that_are_no_json_are_none() -> None:
    for content in (b"[" * 100_000, b"{}", b'{"info": {"features": {"labels": 3}}}', b"nul"):
        assert class_names(pa.schema([("labels", pa.int64())], metadata={b"huggingface": content}), "labels") == []


def test_a_state_that_is_no_json_is_an_error(tmp_path: Path) -> None:
    for content in (b"[" * 100_000, b'{"_data_files": 3}', b"\xff", b"[]"):
        (tmp_path / "state.json").write_bytes(content)
        with pytest.raises(DataError, match=r"state\.json: does not name its data files"):
            read_any(tmp_path)


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
            (row["id"], row["text"]) for row in TWO
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
