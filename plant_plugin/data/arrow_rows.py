"""Rows of Parquet files, and of the folders that Hugging Face's ``datasets`` saves."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from plant_plugin.data.arrow_sizes import check_sizes, rows_of
from plant_plugin.data.json_text import DECODER
from plant_plugin.errors import DataError, needs_extra

if TYPE_CHECKING:
    from pyarrow import RecordBatch, Schema
PARQUET, ARROW = ".parquet", ".arrow"
STATE = "state.json"  # of a saved split: which files are its data, in order
NO_LABEL = -1  # of a ClassLabel
BATCH_ROWS = 4096  # of a column that Python holds at once
SPLIT = re.compile(r"(?<![a-z])(train(ing)?|val|valid(ation)?|dev|test)(?![a-z])")  # in names of files

Cells = Mapping[str, object]
Check = Callable[[Iterable[str], str], None]


def whole_batch(batch: RecordBatch) -> RecordBatch:
    """Return a batch whose columns hold what they say: pyarrow believes the places of texts that a file states."""
    batch.validate(full=True)
    return batch


def class_names(schema: Schema, column: str | None) -> list[str]:
    """Return the names of a column's numbers, where Hugging Face's features have them; else nothing."""
    try:
        features = json.loads((schema.metadata or {}).get(b"huggingface", b"{}"))["info"]["features"][column]
        names = features.get("feature", features)["names"]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return []
    return [str(name) for name in names]


if TYPE_CHECKING:
    from pyarrow import RecordBatch


def arrow_rows(
    path: Path, check: Check, columns: tuple[str, str | None, str]
) -> Iterator[tuple[Path, int, Cells | DataError]]:
    """Yield the file, the number from 1 and the cells of each row, or what is wrong with them.

    Args:
        path: A Parquet file, or a folder with the files of one split.
        check: Raises an error where the names of a file's columns are not as they should be; called with its path.
        columns: Those of text, labels (None: not read) and id. Numbers of a ``ClassLabel`` become their names.

    Raises:
        DataError: A file is no Parquet or Arrow file, or the folder holds no split or several.
        MissingExtraError: pyarrow is not installed.
    """
    labels = columns[1]
    for file in _parts(path) if path.is_dir() else [path]:
        number = 0
        for batch in _batches(file, check, columns):
            names = class_names(batch.schema, labels)
            for cells in rows_of(batch):
                number += 1
                yield file, number, _named(cells, labels, names)


def _named(cells: dict[str, object], column: str | None, names: Sequence[str]) -> Cells | DataError:
    """Return the cells with names in the place of a ``ClassLabel``'s numbers, or what is wrong with them."""
    numbers = cells.get(column or "")
    if not names or not isinstance(numbers, list):
        return cells
    if not all(isinstance(label, int) and NO_LABEL <= label < len(names) for label in numbers):
        return DataError(f"a label that is none of the {len(names)} that the file names", fix="save it again")
    return {**cells, str(column): [names[label] for label in numbers if label != NO_LABEL]}


def _parts(folder: Path) -> list[Path]:
    """List the data files of a split in order: those that it names itself, else all of one kind."""
    splits = sorted(inner.name for inner in folder.iterdir() if inner.is_dir())
    if (folder / STATE).is_file():
        try:
            state = DECODER.decode((folder / STATE).read_text(encoding="utf-8"))
            files = [folder / Path(part["filename"]).name for part in state["_data_files"]]
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            what = "does not name its data files"
            raise DataError(what, where=str(folder / STATE), fix="save it again") from error
        if state.get("_indices_files"):
            what, fix = "rows that are only chosen by an index", "save `dataset.flatten_indices()` instead"
            raise DataError(what, where=str(folder), fix=fix)
    else:
        files = sorted(folder.glob(f"*{ARROW}")) or sorted(folder.glob(f"*{PARQUET}"))
        named = {match[0]: file.name for file in files if (match := SPLIT.search(file.stem.lower()))}
        if len(named) > 1:  # as Hugging Face's hub has them: test documents would be trained on
            what, fix = f"files of several splits: {', '.join(named.values())}", "put each split into its own folder"
            raise DataError(what, where=str(folder), fix=fix)
    if not files:
        fix = "name a folder of .arrow or .parquet files"
        if splits:
            fix = f"name a split of it, e.g. {folder / splits[0]}"
        raise DataError("there are no .arrow or .parquet files in this folder", where=str(folder), fix=fix)
    return files


def _batches(file: Path, check: Check, columns: Sequence[str | None]) -> Iterator[RecordBatch]:
    """Yield the columns that are read of a Parquet or Arrow file, a batch of rows at a time."""
    with needs_extra("prepare", "Parquet and Arrow files need pyarrow", where=str(file)):
        import pyarrow
        from pyarrow import parquet
    kind = "Parquet" if file.suffix == PARQUET else "Arrow"
    try:
        with pyarrow.memory_map(str(file)) as source:
            if kind == "Parquet":
                names = parquet.ParquetFile(source).schema_arrow.names
                check(names, str(file))
                opened = parquet.ParquetFile(source, read_dictionary=[str(columns[0])], page_checksum_verification=True)
                check_sizes(opened.metadata, columns, str(file))
                read = opened.iter_batches(BATCH_ROWS, columns=[name for name in columns if name in names])
                yield from map(whole_batch, read)
                return
            try:  # a stream, which is what `datasets` saves, or a file
                table = pyarrow.ipc.open_stream(source).read_all()
            except pyarrow.ArrowInvalid:
                source.seek(0)
                table = pyarrow.ipc.open_file(source).read_all()
            check(table.column_names, str(file))
            wanted = table.select([name for name in columns if name in table.column_names])
            yield from map(whole_batch, wanted.to_batches(max_chunksize=BATCH_ROWS))
    except pyarrow.ArrowException as error:
        raise DataError(f"no {kind} file, or cut off", where=str(file), fix="write it again") from error
