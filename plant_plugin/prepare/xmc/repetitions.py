"""Small sets of the extreme classification repository: a data file, and its divisions into training and test.

Bibtex, Delicious and Mediamill come as ``*_data.txt`` (a header, then ``label,label feature:value``) with
``*_trSplit.txt`` and ``*_tstSplit.txt``: a column for each repetition of the experiment, of the numbers of the
documents, from 1.
"""

from __future__ import annotations

from pathlib import Path

from plant_plugin.data.text import text_lines
from plant_plugin.data.xmc_sparse import has_header, read_words, xmc_header
from plant_plugin.errors import DataError
from plant_plugin.prepare.output import Counts
from plant_plugin.prepare.xmc.features import divided
from plant_plugin.prepare.xmc.shapes import TEST_FILTER, Files, Folder, Shape

ENDINGS = {"train": "trsplit.txt", "test": "tstsplit.txt"}  # lower case
COMPRESSED = (".gz", ".xz")


def find_repetition(
    source: Path, vocabulary: Path | None, encoding: str, repetition: int | None
) -> tuple[Shape, Counts] | None:
    """Recognise a folder with a data file and numbers of its documents; None where it has no such numbers.

    Args:
        source: The folder.
        vocabulary: Words of the features; None: they stay numbers with values.
        encoding: Of names and words.
        repetition: The column of the numbers, from 1; None: the first.

    Returns:
        The shape, and what to count of its division.

    Raises:
        DataError: A file is missing or does not fit the others, or there is no such repetition.
    """
    where, paths = str(source), sorted(source.iterdir()) if source.is_dir() else []
    numbers = {split: _only(source, [path for path in paths if _is(path, end)]) for split, end in ENDINGS.items()}
    of_split = {split: path for split, path in numbers.items() if path is not None}
    if not of_split:
        if repetition is not None:
            fix = "leave out --repetition, or put the *_trSplit.txt and *_tstSplit.txt there"
            raise DataError("there are no numbers of documents by repetition", where=where, fix=fix)
        return None
    if len(of_split) == 1:
        raise DataError(f"only the numbers for {next(iter(of_split))}", where=where, fix="put both files there")
    data = _only(source, [path for path in paths if _is(path, "data.txt") and has_header(path)])
    if data is None:
        fix = "put the *_data.txt there, which begins with the numbers of documents, features and labels"
        raise DataError("numbers of documents without the documents", where=where, fix=fix)
    return _shape(Folder(source, encoding), data, of_split, vocabulary, repetition or 1)


def _is(path: Path, ending: str) -> bool:
    return path.is_file() and path.name.lower().endswith((ending, *(ending + packed for packed in COMPRESSED)))


def _only(source: Path, paths: list[Path]) -> Path | None:
    if len(paths) > 1:
        what = f"several files for one purpose: {', '.join(path.name for path in paths)}"
        raise DataError(what, where=str(source), fix="leave one data set in the folder")
    return paths[0] if paths else None


def _shape(
    folder: Folder, data: Path, numbers: Files, vocabulary: Path | None, repetition: int
) -> tuple[Shape, Counts]:
    documents, features, _ = xmc_header(data)
    columns = {split: _columns(path, documents) for split, path in numbers.items()}
    widths = {split: len(column) for split, column in columns.items()}
    if len(set(widths.values())) > 1 or not 1 <= repetition <= widths["train"]:
        what = f"no repetition {repetition} in both: train has {widths['train']}, test {widths['test']}"
        fix = "choose another --repetition (from 1), or take the files of one data set"
        raise DataError(what, where=str(folder.path), fix=fix)
    chosen = {split: column[repetition - 1] for split, column in columns.items()}
    for split, column in chosen.items():
        if len(set(column)) < len(column):
            where = f"{numbers[split]}, column {repetition}"
            raise DataError("a document twice", where=where, fix="download the data set again")
    names, more = folder.label_names({"train": data, "test": data}, lambda path: xmc_header(path)[2])
    if (path := folder.first(TEST_FILTER)) is not None:
        raise DataError("a filter file, and several divisions", where=str(path), fix="take the file away")

    train, test = map(set, chosen.values())
    counts = {
        "repetition": repetition,
        "repetitions": widths["train"],
        "documents_in_neither": documents - len(train | test),
        "documents_in_training_and_test": len(train & test),
    }
    files = [data, *numbers.values(), *more, *([vocabulary] if vocabulary else [])]
    words = None if vocabulary is None else read_words(vocabulary, features, folder.encoding)
    counts["features_without_words"] = features * (words is None)
    return divided(files, chosen, names, words), counts


def _columns(path: Path, documents: int) -> list[list[int]]:
    """Read the numbers of documents of each repetition."""
    rows: list[list[int]] = []
    with text_lines(path) as stream:
        for line, text in enumerate(stream, 1):
            cells, where = text.split(), f"{path}, line {line}"
            if not cells:
                continue
            if not all(cell.isascii() and cell.isdigit() and 1 <= int(cell) <= documents for cell in cells):
                what = f"something that is no number of a document, from 1 to {documents:,}"
                raise DataError(what, where=where, fix="take the files of one data set as they were downloaded")
            if rows and len(cells) != len(rows[0]):
                what = f"{len(cells)} numbers, the first line has {len(rows[0])}"
                raise DataError(what, where=where, fix="a line has to have a number for each repetition")
            rows.append(list(map(int, cells)))
    if not rows:
        raise DataError("no numbers of documents", where=str(path), fix="download the data set again")
    return [list(column) for column in zip(*rows, strict=True)]
