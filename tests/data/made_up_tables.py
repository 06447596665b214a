"""The same documents as CSV, JSON lines, Parquet and a split that Hugging Face's ``datasets`` saves."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow

ROWS: list[dict[str, Any]] = [
    {"id": "a", "text": 'fever, "cough"\nand pain', "labels": ["R50.9", "R05"]},
    {"id": "b", "text": "all well", "labels": []},
    {"id": "c", "text": "número uno", "labels": ["Heart failure"]},
]


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
