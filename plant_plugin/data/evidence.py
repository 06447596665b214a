"""Coders' evidence: the stretches of a text that made somebody assign a label, one file beside each text file.

``train.txt`` ↔ ``train_evidence.tsv``, one line a document and label::

    document TAB label TAB start-end;start-end+start-end

The document is its number in the text file, from 0, or its id where the text file has ids. Places are characters of
the text column, the end after the last one. ``;`` separates marks, ``+`` separates the parts of one mark that does
not hold together. Marks of a label may overlap; they come out sorted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from plant_plugin.data.tables import ENDINGS
from plant_plugin.data.text import (
    DocumentEvidence,
    DocumentMarks,
    Documents,
    Spans,
    one_label,
    packed,
    plain_name,
    tab_separated,
)
from plant_plugin.errors import DataError
from plant_plugin.files import atomic_write

NUMBER = re.compile(r"[0-9]{1,12}")  # of a character: no file has more
PLACES = re.compile(rf"{NUMBER.pattern}-{NUMBER.pattern}([;+]{NUMBER.pattern}-{NUMBER.pattern})*")
# A full stop, question or exclamation mark, or semicolon before a capital, a digit or a bracket; or an empty stretch;
# or what is empty at either end of the text.
BETWEEN_SENTENCES = re.compile(r"\A\s+|\s+\Z|(?<=[.;!?])\s+(?=[^\W_a-zà-öø-ÿ]|[(\"¿¡-])|\s{2,}|(?<=[。！？])(?=\w)")
FORMAT = "each line has to be: document TAB label TAB start-end;start-end, with + between the parts of one mark"


def evidence_beside(path: Path) -> Path:
    """Return the evidence file of a text file: ``train.txt`` or ``train.txt.xz`` → ``train_evidence.tsv``."""
    stem = plain_name(path)
    return stem.with_name(f"{stem.stem}_evidence.tsv")


def text_beside(path: Path) -> Path | None:
    """Return the text file or table of an evidence file, plain or compressed; None where there is none."""
    stem = plain_name(path)
    texts = [stem.with_name(stem.stem.removesuffix("_evidence") + ending) for ending in (".txt", *ENDINGS)]
    return next((path_there for text in texts if text != stem and (path_there := packed(text))), None)


def parts(marks: DocumentMarks) -> DocumentEvidence:
    """Return the spans that hold what was marked, sorted: training and comparisons use these."""
    spans_of: DocumentEvidence = {}
    for label, marked in marks.items():
        whole = [mark[0] for mark in marked if len(mark) == 1]
        # Two marks may share a part ("pain" of two kinds): it is there once.
        spans_of[label] = sorted(
            [*whole, *{part for mark in marked if len(mark) > 1 for part in mark}.difference(whole)]
        )
    return spans_of


def read_evidence(path: str | Path, documents: Documents) -> list[DocumentEvidence]:
    """Read the spans of each document's evidence: :func:`parts` of what :func:`read_marks` reads."""
    return [parts(marks) for marks in read_marks(path, documents)]


def read_marks(path: str | Path, documents: Documents) -> list[DocumentMarks]:
    """Read the marks of each document, in the order of the documents; empty for those that have none.

    Args:
        path: The evidence file, plain, ``.gz`` or ``.xz``.
        documents: What the text file beside it holds, all of it.

    Raises:
        DataError: The file cannot be read, or a line is not of the format, names a document that is not there or a
            label that the document lacks, or a span is empty or outside the text; with file and line. Or ids are not
            unique.
    """
    path = Path(path)
    if documents.dropped and documents.ids is None:
        fix = "mend the lines that are left out, or give the documents ids"
        raise DataError("documents were left out, so that their numbers say nothing", where=str(path), fix=fix)
    names = documents.ids or [str(row) for row in range(len(documents.texts))]
    row_of = {name: row for row, name in enumerate(names)}
    if len(row_of) < len(names):
        fix = "give each document an id of its own, or leave the column of ids out"
        raise DataError("several documents have the same id, so that it names none of them", where=str(path), fix=fix)
    marks_of: list[DocumentMarks] = [{} for _ in documents.texts]
    for where, fields in tab_separated(path):
        if len(fields) != 3 or not PLACES.fullmatch(fields[2]):
            raise DataError("this is no evidence", where=where, fix=FORMAT)
        document, label, places = fields[0], one_label(fields[1]), fields[2]
        row = row_of.get(document)
        if row is None:
            kind = f"a number below {len(names)}" if documents.ids is None else "the id of a document"
            raise DataError("there is no such document", where=where, fix=f"its first column has to be {kind}")
        if label not in documents.labels[row]:
            fix = "give the document the label, or take the line out"
            raise DataError("the document does not have this label", where=where, fix=fix)
        # The file may count characters of another Unicode form.
        place = documents.places.get(row) or range(len(documents.texts[row]) + 1)
        for mark in places.split(";"):
            spans = [(place[start], max(place[end], place[start] + 1)) for start, end in _spans(mark, place, where)]
            marks_of[row].setdefault(label, []).append(spans)
    return [{label: sorted(marked) for label, marked in marks.items()} for marks in marks_of]


def write_evidence(path: Path, marks: Iterable[DocumentMarks]) -> None:
    """Write what :func:`read_marks` reads, from the marks of each document of a text file without ids, in its order."""
    with atomic_write(path) as temporary, open(temporary, "w", encoding="utf-8") as stream:
        for document, labels in enumerate(marks):
            for label, marked in labels.items():
                places = ";".join("+".join(f"{start}-{end}" for start, end in mark) for mark in marked)
                stream.write(f"{document}\t{label}\t{places}\n")


def sentences(text: str) -> Spans:
    """Find where each sentence begins and ends, by punctuation; white space around them is in none."""
    starts, ends = [0], []
    for gap in BETWEEN_SENTENCES.finditer(text):
        ends.append(gap.start())
        starts.append(gap.end())
    return [(start, end) for start, end in zip(starts, [*ends, len(text)], strict=True) if end > start]


def marked_sentences(text: str, evidence: DocumentEvidence) -> Iterator[tuple[int, int, DocumentEvidence]]:
    """Yield where each sentence begins and ends, and the evidence in it, counted from its beginning."""
    for start, end in sentences(text):
        inside = {
            label: [(max(a, start) - start, min(b, end) - start) for a, b in spans if a < end and b > start]
            for label, spans in evidence.items()
        }
        yield start, end, {label: spans for label, spans in inside.items() if spans}


def _spans(mark: str, places: Sequence[int], where: str) -> Spans:
    spans, length = [], len(places) - 1
    for place in mark.split("+"):
        start, end = map(int, place.split("-"))
        if not start < end <= length:
            fix = "count characters of the text column from 0, the end after the last; was the text changed since?"
            raise DataError(f"a span is not inside the text of {length} characters", where=where, fix=fix)
        spans.append((start, end))
    return sorted(spans)
