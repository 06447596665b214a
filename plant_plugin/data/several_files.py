"""Documents of several files, and of folders of texts: one file after another, each read as one alone would be.

A file that is read as one text is a document, whose id is the file's name: its path below the innermost folder that
holds all of them, with slashes. Rows without an id of their own have that name and their number: ``notes.csv:3``.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from plant_plugin.data.arrow_rows import ARROW, PARQUET, STATE
from plant_plugin.data.columns import Columns
from plant_plugin.data.foreign_files import WIDTHS
from plant_plugin.data.rows import Document
from plant_plugin.data.tables import LINES_KEPT, STDIN, TABLES, Table, form_of
from plant_plugin.data.text import is_valid, plain_name, reading_errors
from plant_plugin.errors import DataError

TEXT = ".txt"
REMOVE = "write it again, or remove it"


@dataclass
class Files(Table):
    """The documents of several files.

    Attributes:
        source: What was named, where it is one file or folder; else the folder that holds all.
        form: Of every file. None: by its ending; what is no table by it is one text.
        paths: The files, in the order in which they are read.
        folder: Below it lie their names.
    """

    paths: list[Path] = field(default_factory=list)
    folder: Path = Path()

    def __post_init__(self) -> None:
        """See that every file is there, before anything is done with the first."""
        places = set[str]()
        for path in self.paths:
            where = str(path)
            if not is_valid(where):
                raise DataError("the name of the file is not valid UTF-8", where=where, fix="rename it")
            if (place := os.path.abspath(path)) in places:
                raise DataError("the file is named twice", where=where, fix="name it once")
            places.add(place)
            with reading_errors(where):
                status = path.stat()
                if stat.S_ISREG(status.st_mode):  # what is none, such as a pipe, can be opened only once
                    path.open("rb").close()
                    if not (status.st_size or self.skip_bad):
                        raise self._error("the file is empty", path)

    def __iter__(self) -> Iterator[Document]:
        """Yield the documents of each file.

        Raises:
            DataError: (while reading) As of one file; or it holds no document, or a text of nothing but spaces.
        """
        number = 0
        for path in self.paths:
            name, before = Path(os.path.relpath(path, self.folder)).as_posix(), number
            form = form_of(path)
            table = Table(path, self.form or (form if form in TABLES else "text"), self.columns, self.skip_bad,
                          self.otherwise)  # fmt: skip
            for row in table:
                if table.form == "text":
                    row.id = name
                    if (error := self._problem(row.text, path)) is not None:
                        self._pass_over(error)
                        continue
                elif not row.id:
                    row.id = f"{name}:{row.number}"
                number += 1
                row.number = number
                yield row
            self.note = self.note or table.note
            if table.skipped.problem is not None:
                self._pass_over(table.skipped.problem, table.skipped.count)
            elif number == before and table.form != "text":
                self._pass_over(self._error("the file holds no document", path))

    def _problem(self, text: str, path: Path) -> DataError | None:
        """Tell why a text is no document."""
        widths = {line.count("\t") + 1 for line in text.splitlines() if line.strip()}
        if not widths:
            return self._error("the file holds no text", path)
        if self.form is None and len(widths) == 1 and widths <= {*WIDTHS}:
            what = "each of its lines has a TAB, as LibMultiLabel's have, which are documents"
            return DataError(what, where=str(path), fix="say with --input whether files are libmultilabel, or text")
        return None

    def _error(self, what: str, path: Path) -> DataError:
        return DataError(what, where=str(path), fix=f"{REMOVE}; or {self.otherwise}" if self.otherwise else REMOVE)

    def _pass_over(self, error: DataError, count: int = 1) -> None:
        if not self.skip_bad:
            raise error
        self.skipped.count += count
        self.skipped.problem = self.skipped.problem or error
        if len(self.skipped.lines) < LINES_KEPT:
            self.skipped.lines.append(str(error.where))


def documents_of(
    sources: Sequence[str], form: str | None, columns: Columns, skip_bad: bool = False, otherwise: str = ""
) -> Table:
    """Return the documents of files and folders; of standard input where none is named.

    Args:
        sources: Files; folders of texts, whose files ``.txt`` are read, also those of folders in them; folders that
            Hugging Face's ``datasets`` saved; ``-``, which stands alone.
        form: See :class:`Files`; of a file alone, see :class:`.Table`.
        columns: Which columns are read.
        skip_bad: Pass over what is no document and count it.
        otherwise: What else may be done about an error, after "or".

    Raises:
        DataError: A file is missing, empty, cannot be read or is named twice, or a folder holds no documents.
    """
    if len(sources) > 1 and STDIN in sources:
        raise DataError("standard input is read alone", where=STDIN, fix="leave out - or the files")
    if not sources or sources[0] == STDIN:
        return Table(STDIN, form, columns, skip_bad, otherwise)
    paths, folders, others = list[Path](), list[Path](), 0  # files, what their names are below, files passed over
    for path in map(Path, sources):
        if path.is_dir() and not _is_dataset(path):
            texts, rest = _texts(path)
            others += rest
            folders.append(path)
            paths += texts
        else:
            folders.append(path.parent)
            paths.append(path)
    if len(sources) == 1 and paths == [Path(sources[0])] and form != "text":
        return Table(sources[0], form, columns, skip_bad, otherwise)
    folder = Path(os.path.commonpath([os.path.abspath(each) for each in folders]))
    source = Path(sources[0]) if len(sources) == 1 else folder
    documents = Files(source, form, columns, skip_bad, otherwise, paths, folder)
    if others:
        documents.note = f"files of the folders that are no {TEXT} and were not read: {others:,}"
    return documents


def _is_dataset(folder: Path) -> bool:
    with reading_errors(str(folder)):
        return (folder / STATE).is_file() or any(path.suffix in (ARROW, PARQUET) for path in folder.iterdir())


def _texts(folder: Path) -> tuple[list[Path], int]:
    """Return the texts of a folder, by their names, and how many other files are in it."""

    def stop(error: OSError) -> None:  # else a folder that cannot be read would be lost
        raise error

    with reading_errors(str(folder)):
        files = [Path(inner, name) for inner, _, names in os.walk(folder, onerror=stop) for name in names]
    texts = [path for path in files if plain_name(path).suffix.lower() == TEXT and not path.name.startswith(".")]
    if not texts:
        splits = sorted(path.name for path in folder.iterdir() if path.is_dir() and _is_dataset(path))
        fix = f"name a split of it, e.g. {folder / splits[0]}" if splits else "name a folder that holds some"
        raise DataError(f"there are no {TEXT}, .arrow or .parquet files in this folder", where=str(folder), fix=fix)
    return sorted(texts, key=lambda path: path.relative_to(folder).as_posix()), len(files) - len(texts)
