"""MDACE: which words of MIMIC-III's notes coders gave as evidence, as places without text.

A JSON file for each admission: ``hadm_id``, ``notes`` with ``note_id`` (NOTEEVENTS' ROW_ID) and ``annotations`` with
``begin`` and ``end`` (characters of its TEXT), ``code`` and ``code_system``. Names of the files hold admission ids, so
errors count files instead.

Source: Cheng et al. 2023, "MDACE: MIMIC Documents Annotated with Code Evidence", https://github.com/3mcloud/MDACE.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from plant_plugin.data.json_text import DECODER
from plant_plugin.data.text import DocumentMarks
from plant_plugin.errors import DataError
from plant_plugin.prepare.mimic.notes import Admission, Note, Order, Style, moved
from plant_plugin.prepare.mimic.tables import dotted

SYSTEMS = {  # version and kind of its codes
    "ICD-9-CM": (9, "diagnosis"),
    "ICD-9-PCS": (9, "procedure"),
    "ICD-10-CM": (10, "diagnosis"),
    "ICD-10-PCS": (10, "procedure"),
}
FORMAT_FIX = "give a folder of MDACE's repository as it was downloaded, e.g. data/Inpatient/ICD-9"


class _Annotation(NamedTuple):
    admission: int
    note: int
    start: int
    end: int
    system: str
    code: str
    where: str


class Mdace:
    """Evidence on its way from notes to documents; ``counts`` gets how many annotations there are and are left out.

    Raises:
        DataError: The folder holds no JSON file, one is not of the format, or no code is of the version.
    """

    def __init__(self, folder: Path, version: int, counts: Counter[str], *, caml_compatible: bool = False) -> None:
        self.folder, self.counts = folder, counts
        self.annotations: dict[int, list[_Annotation]] = {}  # by note
        files, digest = sorted(path for path in folder.rglob("*.json") if path.is_file()), hashlib.sha256()
        for number, path in enumerate(files, 1):
            where = f"{folder}, file {number} of {len(files)} by name"
            content = path.read_bytes()
            digest.update(content)
            for annotation in _annotations(content, where):
                counts["mdace_annotations"] += 1
                its_version, kind = SYSTEMS.get(annotation.system, (0, ""))
                if its_version != version:
                    counts["mdace_annotations_of_other_code_systems"] += 1
                    continue
                code = annotation.code.strip().upper().replace(".", "")
                code = dotted(code, version, kind, caml_compatible=caml_compatible)  # as prepared files have it
                self.annotations.setdefault(annotation.note, []).append(annotation._replace(code=code))
        if not self.annotations:
            seen = f"{counts['mdace_annotations']:,} annotations in {len(files)} files *.json"
            what = f"{seen}, none with an ICD-{version} code"
            raise DataError(what, where=str(folder), fix=FORMAT_FIX)
        self.described: dict[str, object] = {"name": "MDACE", "files": len(files), "sha256": digest.hexdigest()}
        self._admissions = {annotation.admission for of_note in self.annotations.values() for annotation in of_note}
        # By admission: order of a note, number in the table, characters of its text, its evidence there.
        self._notes: dict[int, list[tuple[Order, int, int, list[tuple[str, int, int]]]]] = {}
        self._carried = 0

    def carry(self, note: Note, text: str, style: Style, codes: frozenset[str]) -> None:
        """Take the evidence of a note over to the text that a style made of it; evidence of other codes is counted."""
        annotations = self.annotations.pop(note.row, []) if note.row is not None else []
        if not annotations and note.admission not in self._admissions:
            return
        pieces, marks = style.pieces(note.text), []
        for annotation in annotations:
            fix = "MDACE is made for MIMIC-III v1.4: take NOTEEVENTS as it was downloaded"
            if annotation.admission != note.admission:
                raise DataError("the note is another admission's", where=annotation.where, fix=fix)
            if not 0 <= annotation.start < annotation.end <= len(note.text):
                raise DataError("a span outside its note", where=annotation.where, fix=fix)
            span = moved((annotation.start, annotation.end), pieces)
            if annotation.code not in codes:
                self.counts["mdace_annotations_of_other_codes"] += 1
            elif span is None:
                self.counts["mdace_annotations_without_a_word"] += 1
            else:
                marks.append((annotation.code, *span))
        self._carried += len(marks)
        row = self._notes.setdefault(note.admission, [])
        row.append((note.order, len(row), len(text), marks))

    def check(self) -> None:
        """Count what belonged to no note that was carried; an error where nothing was carried."""
        self.counts["mdace_annotations_of_other_notes"] = sum(map(len, self.annotations.values()))
        if not self._carried:
            what = f"none of {self.counts['mdace_annotations']:,} annotations is evidence for a code of a summary"
            raise DataError(what, where=str(self.folder), fix=FORMAT_FIX)

    def evidence_of(self, document: Admission) -> DocumentMarks:
        """The evidence for the codes of a document, in characters of its notes in order, joined by spaces."""
        spans_of: dict[str, set[tuple[int, int]]] = {}
        offset = 0
        for _, _, length, marks in sorted(self._notes.get(document.number, [])):
            for code, start, end in marks:
                if code in document.codes:
                    spans_of.setdefault(code, set()).add((offset + start, offset + end))
            offset += length + 1 if length else 0
        return {code: [[span] for span in sorted(spans)] for code, spans in sorted(spans_of.items())}

    def sizes(self, documents: Iterable[Admission]) -> dict[str, int]:
        """Count the evidence of documents."""
        spans = [spans_of_label for document in documents for spans_of_label in self.evidence_of(document).values()]
        return {"labels_of_documents_with_evidence": len(spans), "spans": sum(map(len, spans))}


def _annotations(content: bytes, where: str) -> Iterator[_Annotation]:
    place = where
    try:
        chart = DECODER.decode(content.decode("utf-8-sig"))
        for note_number, note in enumerate(chart["notes"], 1):
            for number, entry in enumerate(note["annotations"], 1):
                place = f"{where}, note {note_number}, annotation {number}"
                admission, note_id, start, end = map(
                    int, (chart["hadm_id"], note["note_id"], entry["begin"], entry["end"])
                )
                system, code = str(entry["code_system"]), str(entry["code"])
                yield _Annotation(admission, note_id, start, end, system, code, place)
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:  # a message could show an id
        what = f"not of MDACE's format ({type(error).__name__})"
        raise DataError(what, where=place, fix=FORMAT_FIX) from None
