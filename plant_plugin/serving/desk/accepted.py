"""The codes that coders accepted, for the hospital's systems: CSV, Excel and FHIR R4, by the documents' own ids.

Which codes count is decided as for training (:mod:`.settled`). FHIR has a Bundle of
Conditions for each document, as `plant predict` writes them, but confirmed, with who and when. Source: HL7 FHIR R4
(4.0.1), resources Bundle and Condition.
"""

from __future__ import annotations

import csv
import io
import json
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path

from sqlalchemy import select

from plant_plugin.data.text import Spans
from plant_plugin.errors import DataError, needs_extra
from plant_plugin.files import atomic_write
from plant_plugin.model.code_systems import as_code, system_of
from plant_plugin.model.fhir import ABSENT, OURS, STATUS
from plant_plugin.report.spreadsheets import no_formula
from plant_plugin.serving.desk.settled import settled
from plant_plugin.serving.desk.store import Desk
from plant_plugin.serving.desk.tables import documents

HEADER = ("document", "code", "coder", "time", "evidence", "places", "known")
LONGEST = 32_767  # characters of a cell of Excel
ENDINGS = {"csv": "csv", "xlsx": "xlsx", "fhir": "ndjson"}  # of a file of each form


@dataclass(frozen=True)
class Accepted:
    """A code that counts for a document."""

    code: str
    coder: str  # whoever gave it, with commas between
    time: str  # of the last one to do so: ISO 8601, UTC
    spans: Spans  # words that any of them marked, in characters
    words: list[str] = field(repr=False)
    known: bool  # False: the coder took it though the desk knows no such code


def accepted(desk: Desk, counts: Counter[str]) -> Iterator[tuple[str, list[Accepted]]]:
    """Yield each finished document's own id and its codes; what is left out is counted in ``counts``."""
    ids = dict(own_ids(desk))
    for number, text, labels in settled(desk, counts):
        codes = list[Accepted]()
        for one in labels:
            last = datetime.fromtimestamp(max(said.at for _, said in one.by), timezone.utc)
            names, words = ", ".join(name for name, _ in one.by), [text[start:end] for start, end in one.spans]
            time = last.isoformat(timespec="seconds")
            codes.append(Accepted(one.label, names, time, one.spans, words, one.known))
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
        codes = sorted({one.code for _, each in coded for one in each if one.known})
        address = system_of(codes, system) if codes else ""
        return "".join(f"{json.dumps(_bundle(*one, address), ensure_ascii=False)}\n" for one in coded).encode()
    write: Callable[[Sequence[Sequence[str]]], bytes] = _excel if form == "xlsx" else _csv
    return write([HEADER, *(row for document, each in coded for row in _rows(document, each))])


def ids_table(desk: Desk, form: str) -> str:
    """Return ``documents.tsv`` of an export that trains: its line or number of each document, and the own id.

    In ``train.txt`` documents have no number but their line, and those without a code are not there.
    """
    coded = list(accepted(desk, Counter()))
    if form == "libmultilabel":
        numbered = list(enumerate((document for document, codes in coded if codes), 1))
    else:
        numbered = list(zip((number for number, _, _ in desk.finished()), (one for one, _ in coded), strict=True))
    stream = io.StringIO()
    csv.writer(stream, delimiter="\t", lineterminator="\n").writerows([("number", "document"), *numbered])
    return stream.getvalue()


def _rows(document: str, codes: Sequence[Accepted]) -> Iterator[tuple[str, ...]]:
    """Yield a row for each code; a document without any has one too, so that it is not lost."""
    for one in codes:
        words, places = " … ".join(one.words), " ".join(f"{start}-{end}" for start, end in one.spans)
        yield document, one.code, one.coder, one.time, words, places, "yes" if one.known else "no"
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


def _bundle(document: str, codes: Sequence[Accepted], system: str) -> dict[str, object]:
    bundle: dict[str, object] = {"resourceType": "Bundle", "type": "collection"}
    bundle["identifier"] = {"system": f"{OURS}:document", "value": document}
    if codes:  # an empty list is no FHIR
        bundle["entry"] = [
            {"fullUrl": f"urn:uuid:{uuid.uuid4()}", "resource": _condition(one, system)} for one in codes
        ]
    return bundle


def _condition(one: Accepted, system: str) -> dict[str, object]:
    evidence = [
        {
            "url": f"{OURS}:evidence",
            "extension": [{"url": "start", "valueInteger": start}, {"url": "end", "valueInteger": end}],
        }
        for start, end in one.spans
    ]
    return {
        "resourceType": "Condition",
        **({"extension": evidence} if evidence else {}),
        "verificationStatus": {"coding": [{"system": STATUS, "code": "confirmed"}]},
        # What the desk does not know as a code is no code of a system, only the words that the coder typed.
        "code": {"coding": [{"system": system, "code": as_code(one.code, system)}]}
        if one.known
        else {"text": one.code},
        "subject": {"extension": [{"url": ABSENT, "valueCode": "unknown"}]},
        "recordedDate": one.time,
        "recorder": {"display": one.coder},
    }
