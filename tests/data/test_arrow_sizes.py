from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest

from plant_plugin.data import arrow_sizes
from plant_plugin.data.tables import read_any
from plant_plugin.errors import DataError

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


@pytest.mark.integration
def test_a_text_that_a_column_repeats_is_held_once(tmp_path: Path) -> None:
    text = "sugar and cough " * 6_000  # a tenth of a megabyte
    table = pa.table(
        {"text": pa.array([text, "other", *[text] * 4_000]), "labels": ["E11.9", "R05", *["E11.9"] * 4_000]}
    )
    pq.write_table(table, tmp_path / "bomb.parquet", use_dictionary=True)
    assert (tmp_path / "bomb.parquet").stat().st_size < 2**21
    tracemalloc.start()
    documents = read_any(tmp_path / "bomb.parquet")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(documents) == 4_002
    assert documents.texts[1] == "other"
    assert documents.texts[0] is documents.texts[-1] == text
    assert peak < 2**24  # bytes: all copies of the text are 384 million


def test_a_column_that_says_to_unpack_to_far_more_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrow_sizes, "LARGEST", 2**16)
    table = pa.table({"text": ["a" * 2**22, "b"], "labels": ["A", "B"]})
    pq.write_table(table, tmp_path / "a.parquet", use_dictionary=False, compression="zstd")
    with pytest.raises(DataError, match=r"a\.parquet: a column of .* bytes that unpacks to"):
        read_any(tmp_path / "a.parquet")
    monkeypatch.undo()
    assert len(read_any(tmp_path / "a.parquet")) == 2
