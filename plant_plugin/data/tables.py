"""Documents from tables: CSV, JSON lines, Parquet, and the folders that Hugging Face's ``datasets`` saves.

A row is a document, its columns ``text`` and ``labels`` unless ``text_column`` and ``labels_column`` name others; a
column ``id`` is read where there is one. Labels are a list, or a text that separates them by ``;`` or else by spaces.
White space in a label becomes ``_``, as ``plant prepare`` has it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from plant_plugin.data.text import (
    Documents,
    bounded_lines,
    csv_rows,
    is_valid,
    json_rows,
    one_label,
    open_text,
    plain_name,
    read_libmultilabel_text,
    reading_errors,
)
from plant_plugin.errors import DataError, needs_extra, suggestion

if TYPE_CHECKING:
    from pyarrow import Schema, Table

ID = "id"
TABLES = ("csv", "jsonl", "parquet", "datasets")  # readers of this module
FORMS = {".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet"}
PARQUET, ARROW = ".parquet", ".arrow"
STATE = "state.json"  # of a saved split: which files are its data, in order
NO_LABEL = -1  # of a ClassLabel
ROWS = 4096  # of a column that Python holds at once
SPLIT = re.compile(r"(?<![a-z])(train(ing)?|val|valid(ation)?|dev|test)(?![a-z])")  # in names of files

Row = tuple[str, Mapping[str, object] | DataError]  # where it stands, and what stands there


def form_of(path: Path) -> str:
    """The reader that a file's ending, or that it is a folder, speaks for: ``txt`` where nothing does."""
    return "datasets" if path.is_dir() else FORMS.get(plain_name(path).suffix.lower(), "txt")


def read_csv(
    path: str | Path, *, text_column: str = "text", labels_column: str = "labels", allow_bad_lines: bool = False
) -> Documents:
    """Read a table with a header; fields that hold commas, quotes or line ends are quoted. ``.gz`` and ``.xz`` too.

    Raises:
        DataError: The file cannot be read, lacks a column, or a row is no document; with file and line.
    """
    columns = text_column, labels_column
    return _documents(_csv_rows(Path(path), columns), path, columns, allow_bad_lines)


def read_jsonl(
    path: str | Path, *, text_column: str = "text", labels_column: str = "labels", allow_bad_lines: bool = False
) -> Documents:
    """Read an object on each line; arguments and errors as of :func:`read_csv`."""
    return _documents(_json_rows(Path(path)), path, (text_column, labels_column), allow_bad_lines)


def read_parquet(path: str | Path, *, text_column: str = "text", labels_column: str = "labels") -> Documents:
    """Read a Parquet file; labels that are numbers of Hugging Face's ``ClassLabel`` become their names.

    Raises:
        DataError: As of :func:`read_csv`, with file and row.
        MissingExtraError: pyarrow is not installed.
    """
    columns = text_column, labels_column
    return _documents(_arrow_rows([Path(path)], columns), path, columns)


def read_datasets(path: str | Path, *, text_column: str = "text", labels_column: str = "labels") -> Documents:
    """Read one split that ``datasets`` saved to a folder (``.arrow``), or the ``.parquet`` files of a folder.

    Arguments and errors as of :func:`read_parquet`.
    """
    folder, columns = Path(path), (text_column, labels_column)
    if not folder.is_dir():
        raise DataError("no such folder", where=str(folder), fix="check the path, or name a file")
    return _documents(_arrow_rows(_parts(folder), columns), folder, columns)


def read_any(
    path: str | Path,
    *,
    keep_texts: bool = True,
    allow_bad_lines: bool = False,
    text_column: str = "text",
    labels_column: str = "labels",
) -> Documents:
    """Read a file of text, or a table, by its ending; arguments, where they apply, and errors as of its reader."""
    form = form_of(Path(path))
    if form == "txt":
        return read_libmultilabel_text(path, keep_texts=keep_texts, allow_bad_lines=allow_bad_lines)
    columns = {"text_column": text_column, "labels_column": labels_column}
    if form in ("parquet", "datasets"):
        return (read_parquet if form == "parquet" else read_datasets)(path, **columns)
    return (read_csv if form == "csv" else read_jsonl)(path, allow_bad_lines=allow_bad_lines, **columns)


def _parts(folder: Path) -> list[Path]:
    """The data files of a split in order: those that it names itself, else all of one kind."""
    splits = sorted(inner.name for inner in folder.iterdir() if inner.is_dir())
    if (folder / STATE).is_file():
        with reading_errors(str(folder / STATE)):
            try:
                state = json.loads((folder / STATE).read_text(encoding="utf-8"))
                found = [folder / Path(part["filename"]).name for part in state["_data_files"]]
            except (ValueError, KeyError, TypeError) as error:
                what = "does not name its data files"
                raise DataError(what, where=str(folder / STATE), fix="save it again") from error
        if state.get("_indices_files"):
            what, fix = "rows that are only chosen by an index", "save `dataset.flatten_indices()` instead"
            raise DataError(what, where=str(folder), fix=fix)
    else:
        found = sorted(folder.glob(f"*{ARROW}")) or sorted(folder.glob(f"*{PARQUET}"))
        told = {match[0]: file.name for file in found if (match := SPLIT.search(file.stem.lower()))}
        if len(told) > 1:  # as Hugging Face's hub has them: test documents would be trained on
            what, fix = f"files of several splits: {', '.join(told.values())}", "put each split into its own folder"
            raise DataError(what, where=str(folder), fix=fix)
    if not found:
        fix = "name a folder of .arrow or .parquet files"
        if splits:
            fix = f"name a split of it, e.g. {folder / splits[0]}"
        raise DataError("there are no .arrow or .parquet files in this folder", where=str(folder), fix=fix)
    return found


def _documents(
    rows: Iterator[Row], path: str | Path, columns: Sequence[str], allow_bad_lines: bool = False
) -> Documents:
    """The documents of rows; one that is none is an error, or with ``allow_bad_lines`` counted if others are some."""
    documents, ids, problem = Documents(), list[str](), None
    for where, row in rows:
        try:
            if isinstance(row, DataError):
                raise DataError(row.what, where=where, fix=row.fix)
            text, labels = _document(row, where, columns)
        except DataError as error:
            if not allow_bad_lines:
                raise
            problem = problem or error
            documents.dropped += 1
            continue
        documents.texts.append(text)
        documents.labels.append(labels)
        if row.get(ID) is not None:
            ids.append(str(row[ID]))
    if not documents.texts:
        what, fix = "the file holds no document", "check that it was written completely"
        raise problem or DataError(what, where=str(path), fix=fix)
    documents.ids = ids if len(ids) == len(documents.texts) else None
    return documents


def _document(row: Mapping[str, object], where: str, columns: Sequence[str]) -> tuple[str, list[str]]:
    _check_columns(columns, row, where)
    text_column, labels_column = columns
    text = row[text_column]
    if not isinstance(text, str):
        what = f"the text under {text_column!r} is {'empty' if text is None else f'a {type(text).__name__}'}"
        raise DataError(what, where=where, fix="give every document a text")
    labels = row[labels_column]
    if isinstance(labels, str) and _is_list(labels.strip()):
        fix = "separate labels by semicolons (';'.join), or write JSON lines or Parquet, which have lists"
        raise DataError(f"what stands under {labels_column!r} is a list written as text", where=where, fix=fix)
    if isinstance(labels, str):
        found = labels.split(";") if ";" in labels else labels.split()
    elif labels is None:
        found = []
    elif isinstance(labels, Sequence) and all(isinstance(label, str | int) for label in labels):
        found = [str(label) for label in labels]
    else:
        fix = "a list of labels, or a text in which they are separated by spaces or semicolons"
        raise DataError(f"what stands under {labels_column!r} are no labels", where=where, fix=fix)
    if not is_valid("".join((text, *found, str(row.get(ID, ""))))):
        raise DataError("not valid UTF-8", where=where, fix="save the file as UTF-8 (iconv -f latin1 -t utf-8)")
    return text, [joined for label in found if (joined := one_label(label))]


def _is_list(text: str) -> bool:
    """As pandas writes a list to CSV, or people do (``['A', 'B']``, ``A, B``): its signs would be part of labels."""
    return text[:1] + text[-1:] == "[]" or (", " in text and ";" not in text)


def _check_columns(columns: Sequence[str], found: Iterable[str], where: str) -> None:
    for column, key in zip(columns, ("text_column", "labels_column"), strict=True):
        if column not in found:
            fix = f"name the column: {key}; {suggestion(column, [str(name) for name in found])}"
            raise DataError(f"there is no column {column!r}", where=where, fix=fix)
        if [*found].count(column) > 1:
            raise DataError(f"several columns are called {column!r}", where=where, fix="give each a name of its own")


def _csv_rows(path: Path, columns: Sequence[str]) -> Iterator[Row]:
    with reading_errors(str(path)), open_text(path, "") as stream:
        rows = csv_rows(bounded_lines(stream, str(path)), strict=True)
        line, header = next(rows, (1, columns))
        if isinstance(header, DataError):
            raise DataError(header.what, where=f"{path}, line {line}", fix=header.fix)
        _check_columns(columns, header, f"{path}, line {line}")
        for line, row in rows:
            yield f"{path}, line {line}", row if isinstance(row, DataError) else dict(zip(header, row, strict=True))


def _json_rows(path: Path) -> Iterator[Row]:
    fix = 'a line has to be an object like {"text": "…", "labels": ["A", "B"]}'
    with reading_errors(str(path)), open_text(path, None) as stream:
        for line, row in json_rows(bounded_lines(stream, str(path)), fix):
            yield f"{path}, line {line}", row


def _arrow_rows(files: Sequence[Path], columns: Sequence[str]) -> Iterator[Row]:
    for file in files:
        table = _table(file)
        _check_columns(columns, table.column_names, str(file))
        wanted = [name for name in (*columns, ID) if name in table.column_names]
        names = _class_names(table.schema, columns[1])
        batches = table.select(wanted).to_batches(max_chunksize=ROWS)
        for number, row in enumerate((row for batch in batches for row in batch.to_pylist()), 1):
            where, numbers = f"{file}, row {number}", row[columns[1]]
            if names and isinstance(numbers, list):
                if not all(isinstance(label, int) and NO_LABEL <= label < len(names) for label in numbers):
                    what, fix = f"a label that is none of the {len(names)} that the file names", "save it again"
                    yield where, DataError(what, fix=fix)
                    continue
                row[columns[1]] = [names[label] for label in numbers if label != NO_LABEL]
            yield where, row


def _table(file: Path) -> Table:
    with needs_extra("prepare", "Parquet and Arrow files need pyarrow", where=str(file)):
        import pyarrow
        from pyarrow import parquet
    kind = "Parquet" if file.suffix == PARQUET else "Arrow"
    read: Callable[[Path], Table] = parquet.read_table if file.suffix == PARQUET else _arrow_table
    with reading_errors(str(file)):
        try:
            return read(file)
        except pyarrow.ArrowInvalid as error:
            raise DataError(f"no {kind} file, or cut off", where=str(file), fix="write it again") from error


def _arrow_table(file: Path) -> Table:
    """An Arrow stream, which is what ``datasets`` saves, or an Arrow file."""
    import pyarrow
    from pyarrow import ipc

    with pyarrow.memory_map(str(file)) as source:
        try:
            return ipc.open_stream(source).read_all()
        except pyarrow.ArrowInvalid:
            source.seek(0)
            return ipc.open_file(source).read_all()


def _class_names(schema: Schema, column: str) -> list[str]:
    """What the numbers of a column stand for, where Hugging Face's features say so; else empty."""
    try:
        features = json.loads((schema.metadata or {}).get(b"huggingface", b"{}"))["info"]["features"][column]
        names = features.get("feature", features)["names"]
    except (ValueError, KeyError, TypeError, AttributeError):
        return []
    return [str(name) for name in names]
