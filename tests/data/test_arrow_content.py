from __future__ import annotations

import contextlib
import random
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")
import pyarrow as pa
from pyarrow import parquet

from plant_plugin.data.arrow_content import class_names, whole_batch
from plant_plugin.data.tables import read_any
from plant_plugin.errors import DataError

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
