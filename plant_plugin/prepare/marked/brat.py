"""brat's standoff format: a text ``case.txt``, and its marks in ``case.ann``.

Of the marks these count; others (relations, events, attributes) are passed over:

- ``T1 TAB Type 0 5;9 12 TAB the words``: an entity, possibly in several pieces
- ``N1 TAB Reference T1 ICD10:I10 TAB name``: its code in a terminology
- ``#1 TAB AnnotatorNotes T1 TAB I10 E11.9``: a note on it

Source: https://brat.nlplab.org/standoff.html
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from plant_plugin.data.text import Spans, text_lines
from plant_plugin.errors import DataError
from plant_plugin.prepare.marked.marked import PLACES, Marked, found_splits, spans_of, whole_text, write_sets

ENTITY = re.compile(rf"(?P<id>T\S+)\t(?P<type>\S+) (?P<places>{PLACES})\t(?P<words>.*)")
REFERENCE = re.compile(r"N\S+\t\S+ (?P<target>\S+) ([^\s:]*:)?(?P<code>\S+)(\t.*)?")
NOTE = re.compile(r"#\S*\t\S+ (?P<target>\S+)(\t(?P<note>.*))?")
FORMS = {"T": ENTITY, "N": REFERENCE, "#": NOTE}


@dataclass
class _Entity:
    type: str
    spans: Spans
    words: str
    where: str
    codes: list[str] = field(default_factory=list)
    noted: list[str] = field(default_factory=list)


def prepare_brat(
    raw: Path, out: Path, types: tuple[str, ...] = (), types_as_labels: bool = False, dry_run: bool = False
) -> dict[str, Any]:
    """Write a folder of texts and marks as ``train.txt`` with evidence; folders train, valid (dev) and test as three.

    Labels are the codes of normalisations. Where a data set has none at all, they are the words of notes; where it has
    some, notes are taken for remarks.

    Args:
        raw: The folder; texts may lie in folders below it.
        out: The folder to write.
        types: Of entities, all if empty; others are left out and counted.
        types_as_labels: An entity without a code has its type as label. Else it is left out and counted.
        dry_run: Read everything, write nothing.

    Raises:
        DataError: A file is missing, a line is not of the format, or a mark does not hold the words that it says.
        PlantError: The folder cannot be written.
    """
    folders = found_splits(raw, None)
    read = {split: [(path, _entities(path)) for path in _texts(folder)] for split, folder in folders.items()}
    every = [entity for files in read.values() for _, entities in files for entity in entities]
    normalised, counts = any(entity.codes for entity in every), Counter[str]()
    if normalised:
        counts["notes_taken_for_remarks"] = sum(bool(entity.noted) for entity in every)
    sets: dict[str, list[Marked]] = {}
    for split, files in read.items():
        sets[split] = []
        for path, entities in files:
            document = Marked(whole_text(path))
            for entity in entities:
                if types and entity.type not in types:
                    counts["marks_of_other_types"] += 1
                    continue
                codes = entity.codes if normalised else entity.noted
                if not codes and types_as_labels:
                    codes = [entity.type]
                counts["marks_without_code"] += not codes
                for code in codes:
                    document.mark(code, entity.spans, entity.where, entity.words)
            sets[split].append(document)
    options = {"types": list(types), "types_as_labels": types_as_labels}
    content = {"command": "prepare brat", "options": options, "counts": dict(counts)}
    texts = [path for files in read.values() for path, _ in files]
    return write_sets(out, {"": sets}, (), content, dry_run, texts=texts)


def _texts(folder: Path) -> list[Path]:
    texts = sorted(folder.rglob("*.txt"))
    alone = sorted({path.with_suffix("") for path in texts} ^ {p.with_suffix("") for p in folder.rglob("*.ann")})
    if alone:
        fix = "give each text its .ann, an empty one if nothing is marked, and take other files out"
        raise DataError(f"a .txt or an .ann without the other ({len(alone)} in all)", where=str(alone[0]), fix=fix)
    if not texts:
        raise DataError("no .txt with an .ann beside it", where=str(folder), fix="check --raw")
    return texts


def _entities(text: Path) -> list[_Entity]:
    path, entities, later = text.with_suffix(".ann"), dict[str, _Entity](), list[tuple[str, re.Match[str]]]()
    with text_lines(path, newline=None) as lines:
        for number, line in enumerate(lines, 1):
            where, form = f"{path}, line {number}", FORMS.get(line[:1])
            if form is None:
                continue
            match = form.fullmatch(line.rstrip("\n"))
            if match is None:
                fix = "see https://brat.nlplab.org/standoff.html; columns are separated by one TAB"
                raise DataError("this is no mark of brat's standoff format", where=where, fix=fix)
            if form is ENTITY:
                entities[match["id"]] = _Entity(match["type"], spans_of(match["places"]), match["words"], where)
            elif match["target"].startswith("T"):  # events and relations have codes and notes too
                later.append((where, match))
    for where, match in later:
        if match["target"] not in entities:
            raise DataError("it is about a mark that is not in this file", where=where, fix="take the line out")
        entity = entities[match["target"]]
        if match.re is NOTE:
            entity.noted += (match["note"] or "").split()
        else:
            entity.codes.append(match["code"])
    return list(entities.values())
