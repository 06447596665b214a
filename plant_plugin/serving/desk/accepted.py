"""The codes that coders accepted, for the hospital's systems: CSV, Excel and FHIR R4, by the documents' own ids.

Which codes count, and in which order, is decided as for training (:mod:`.ranked`).
"""

from __future__ import annotations

import csv
import io
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timezone
from pathlib import Path

from sqlalchemy import select

from plant_plugin.errors import DataError, needs_extra
from plant_plugin.files import atomic_write
from plant_plugin.report.spreadsheets import no_formula
from plant_plugin.serving.desk.accepted_fhir import bundles
from plant_plugin.serving.desk.ranked import Accepted, ranked
from plant_plugin.serving.desk.store import Desk
from plant_plugin.serving.desk.tables import documents

HEADER = ("document", "code", "rank", "coder", "time", "evidence", "places", "known")
LONGEST = 32_767  # characters of a cell of Excel
ENDINGS = {"csv": "csv", "xlsx": "xlsx", "fhir": "ndjson"}  # of a file of each form


def accepted(desk: Desk, counts: Counter[str]) -> Iterator[tuple[str, list[Accepted]]]:
    """Yield each finished document's own id and its codes; what is left out is counted in ``counts``."""
    ids = dict(own_ids(desk))
    for number, text, labels in ranked(desk, counts):
        codes = list[Accepted]()
        for rank, one in labels:
            last = datetime.fromtimestamp(max(said.at for _, said in one.by), timezone.utc)
            names, words = ", ".join(name for name, _ in one.by), [text[start:end] for start, end in one.spans]
            time = last.isoformat(timespec="seconds")
            codes.append(Accepted(one.label, rank, names, time, one.spans, words, one.known))
        counts.update(documents=1, codes=len(codes))
        yield ids[number], codes


def own_ids(desk: Desk) -> list[tuple[int, str]]:
    """Return the desk's number of each document, and what its sender calls it."""
    with desk.reads.begin() as connection:
        return [(row.id, row.name) for row in connection.execute(select(documents.c.id, documents.c.name))]


def write_accepted(desk: Desk, out: Path, form: str, system: str | None = None) -> Counter[str]:
    """Write ``accepted.csv``, ``accepted.xlsx`` or ``accepted.ndjson`` into a folder; return what was counted.

    Raises:
        DataError: Nobody has finished a document.
        ConfigError: The codes do not say which code system they are of (``system``; only FHIR).
        MissingExtraError: openpyxl is not installed.
    """
    counts = Counter[str]()
    content = as_bytes(desk, form, counts, system)
    out.mkdir(parents=True, exist_ok=True)
    with atomic_write(out / f"accepted.{ENDINGS[form]}") as path:
        path.write_bytes(content)
    return +counts


def as_bytes(desk: Desk, form: str, counts: Counter[str], system: str | None = None) -> bytes:
    """Return the file that :func:`write_accepted` writes."""
    coded = list(accepted(desk, counts))
    if not coded:
        fix = "finish documents at the desk first (the key n)"
        raise DataError("no document is finished", where=str(desk.path), fix=fix)
    if form == "fhir":
        return bundles(coded, system).encode()
    write: Callable[[Sequence[Sequence[str]]], bytes] = _excel if form == "xlsx" else _csv
    return write([HEADER, *(row for document, each in coded for row in _rows(document, each))])


def ids_table(desk: Desk, form: str) -> str:
    """Return ``documents.tsv`` of an export that trains: its line or number of each document, own id, principal code.

    In ``train.txt`` documents have no number but their line, and those without a code are not there.
    """
    coded = list(accepted(desk, Counter()))
    if form == "libmultilabel":
        numbers: Iterable[int] = itertools.count(1)
        coded = [(document, codes) for document, codes in coded if codes]
    else:
        numbers = (number for number, _, _ in desk.finished())
    rows = [
        (number, document, codes[0].code if codes and codes[0].rank else "")
        for number, (document, codes) in zip(numbers, coded, strict=False)
    ]
    stream = io.StringIO()
    csv.writer(stream, delimiter="\t", lineterminator="\n").writerows([("number", "document", "principal"), *rows])
    return stream.getvalue()


def _rows(document: str, codes: Sequence[Accepted]) -> Iterator[tuple[str, ...]]:
    """Yield a row for each code; a document without any has one too, so that it is not lost."""
    for one in codes:
        words, places = " … ".join(one.words), " ".join(f"{start}-{end}" for start, end in one.spans)
        yield document, one.code, str(one.rank or ""), one.coder, one.time, words, places, "yes" if one.known else "no"
    if not codes:
        yield (document, *[""] * (len(HEADER) - 1))


def _csv(rows: Sequence[Sequence[str]]) -> bytes:
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows([[no_formula(cell) for cell in row] for row in rows])
    return stream.getvalue().encode()


def _excel(rows: Sequence[Sequence[str]]) -> bytes:
    with needs_extra("prepare", "tables of Excel need openpyxl", otherwise="or write CSV"):
        from openpyxl import Workbook
        from openpyxl.cell import WriteOnlyCell
        from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE as ILLEGAL

    book, content = Workbook(write_only=True), io.BytesIO()
    sheet = book.create_sheet("accepted")
    for row in rows:
        cells = [WriteOnlyCell(sheet, ILLEGAL.sub(" ", cell)[:LONGEST]) for cell in row]
        for cell in cells:
            cell.data_type = "s"  # text, also what begins as a formula does
        sheet.append(cells)
    book.save(content)
    return content.getvalue()
