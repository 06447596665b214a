"""Tables as MIMIC is handed out: CSV, plain or gzipped, with line breaks and quotes inside notes; the codes in them.

Python's own reader is the engine: it reads quoted line breaks, either line end and rows of any length with the memory
of one row, knows the line it is at, and never puts a row's content into an error. It reads about 100 MB a second; the
tables take minutes either way, for the cleaning of the text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from plant_plugin.data.row_formats import csv_rows
from plant_plugin.data.text import text_lines
from plant_plugin.errors import DataError

SHORTEST = 3  # characters of an ICD code: fewer means that leading zeros were lost
# Characters before the dot, by version and kind of code; those of ICD-10-PCS have seven characters and no dot.
DOTS = {(9, "diagnosis"): 3, (9, "procedure"): 2, (10, "diagnosis"): 3, (10, "procedure"): 7}


def find_table(folder: Path, name: str) -> Path:
    """The file of a table, e.g. ``NOTEEVENTS.csv.gz``, in either case of letters; an error where it is missing."""
    if path := find_tables(folder, {name: name}).get(name):
        return path
    fix = f"put {name}.csv or {name}.csv.gz into this folder"
    raise DataError(f"the table {name} is missing", where=str(folder), fix=fix)


def find_tables(folder: Path, names: Mapping[str, str]) -> dict[str, Path]:
    """The files of those tables that are there, under the keys that they are asked for with."""
    if not folder.is_dir():
        raise DataError("no such folder", where=str(folder), fix="give the folder that holds the tables")
    present = {path.name.lower(): path for path in sorted(folder.iterdir()) if path.is_file()}
    files = {key: name.lower() + ".csv" for key, name in names.items()}
    paths = {key: present.get(file) or present.get(file + ".gz") for key, file in files.items()}
    return {key: path for key, path in paths.items() if path is not None}


def read_table(path: Path, columns: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """The line that each row starts in, and its values in the asked for columns, as they stand in the file.

    The header may write their names in either case.

    Raises:
        DataError: The file cannot be read, is cut off, lacks a column, or has a row of another width. Messages hold
            the line, never a value.
    """
    places: list[int] = []
    with text_lines(path, newline="") as stream:
        for line, row in csv_rows(stream):
            if isinstance(row, DataError):
                fix = "the file is cut off, was changed, or has a quote that never closes: download it again"
                raise DataError(row.what, where=f"{path}, line {line}", fix=fix)
            if places:
                yield line, [row[place] for place in places]
            else:
                places = _places(row, columns, path)
    if not places:
        raise DataError("the file is empty", where=str(path), fix="download it again")


def _places(header: list[str], columns: Sequence[str], path: Path) -> list[int]:
    names = [name.strip().lower() for name in header]
    missing = [name for name in columns if name.lower() not in names]
    if missing:
        fix = "use the table as it was downloaded, with its header line"  # without it this line is a patient's
        raise DataError(f"no column {', '.join(missing)}", where=f"{path}, line 1", fix=fix)
    return [names.index(name.lower()) for name in columns]


def read_id(value: str, column: str, path: Path, line: int) -> int | None:
    """A patient's or admission's number; None for an empty one."""
    text = value.strip()
    if not text:
        return None
    if not (text.isascii() and text.isdigit()):
        fix = "use the table as it was downloaded; a spreadsheet or pandas may have changed its numbers"
        raise DataError(f"{column} is not a whole number", where=f"{path}, line {line}", fix=fix)
    return int(text)


def clean_code(value: str, column: str, path: Path, line: int) -> str:
    """A code of a table, checked not to have been read as a number; empty when the table has none."""
    code = value.strip().upper()
    if code and (len(code) < SHORTEST or any(sign in code for sign in ".+ ")):
        what = f"{column} holds a code that was read as a number (a dot, an exponent, or leading zeros gone)"
        fix = "take the table as it was downloaded; spreadsheets and pandas change codes unless told to keep text"
        raise DataError(what, where=f"{path}, line {line}", fix=fix)
    return code


def dotted(code: str, version: int, kind: str, *, caml_compatible: bool = False) -> str:
    """A code of a table as people write it: ``0389`` -> ``038.9``, ``E8889`` -> ``E888.9``, ``I5022`` -> ``I50.22``."""
    place = 4 if (version, kind) == (9, "diagnosis") and code.startswith("E") else DOTS[version, kind]
    written = f"{code[:place]}.{code[place:]}" if len(code) > place else code
    return as_caml_reads(written) if caml_compatible else written


def as_caml_reads(code: str) -> str:
    """A dotted ICD-9 code as CAML's published preparation has it.

    That program reads procedures first as whole numbers, then as fractions: ``03.31`` loses its zero and becomes
    ``33.1``, which is another procedure; ``99.10`` becomes ``99.1``. Diagnoses are read as text, because letters stand
    among them. One thing is not repeated: the second reading goes in pieces of the table, and procedures that share a
    piece with the last diagnoses keep their final zero (``99.10``); which these are depends on the version of pandas.

    Source: jamesmullenbach/caml-mimic, notebooks/dataproc_mimic_III.ipynb, which reads these columns without a type.
    """
    digits = code.replace(".", "")
    if code[2:3] != "." or not digits.isdigit():  # only procedures have their dot after two digits
        return code
    number = str(int(digits))
    return str(float(f"{number[:2]}.{number[2:]}"))
