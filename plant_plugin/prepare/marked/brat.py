"""brat's standoff format: a text ``case.txt``, and its marks in ``case.ann``.

Of the marks these count; others (relations, events) are counted by kind:

- ``T1 TAB Type 0 5;9 12 TAB the words``: an entity, possibly in several pieces
- ``N1 TAB Reference T1 ICD10:I10 TAB name``: its code in a terminology
- ``#1 TAB AnnotatorNotes T1 TAB I10, E11.9``: a note on it, with codes
- ``A1 TAB Negated T1``: an attribute of it, or of the event that it triggers, which can leave it out

Source: https://brat.nlplab.org/standoff.html
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from plant_plugin.data.text import Spans, text_lines
from plant_plugin.errors import DataError
from plant_plugin.prepare.marked.annotations import EVERYTHING, Annotated, Annotation, Annotations, Annotator, Choices
from plant_plugin.prepare.marked.annotators import Copy, joined, texts_with_marks
from plant_plugin.prepare.marked.codes import Code, codes_in, compiled
from plant_plugin.prepare.marked.marked import PLACES, Provenance, found_splits, spans_of, whole_text, write_sets

ENTITY = re.compile(rf"(?P<id>T\S+)\t(?P<type>\S+) (?P<places>{PLACES})\t(?P<words>.*)")
REFERENCE = re.compile(r"N\S+\t\S+ (?P<target>\S+) ((?P<above>[^\s:]*):)?(?P<code>\S+)(\t.*)?")
NOTE = re.compile(r"#\S*\t\S+ (?P<target>\S+)(\t(?P<note>.*))?")
ATTRIBUTE = re.compile(r"[AM]\S+\t(?P<name>\S+) (?P<target>\S+)( (?P<value>.*))?")
EVENT = re.compile(r"(?P<id>E\S+)\t[^\s:]+:(?P<target>T\S+)( .*)?")
FORMS = {"T": ENTITY, "N": REFERENCE, "#": NOTE, "A": ATTRIBUTE, "M": ATTRIBUTE, "E": EVENT}
KINDS = {NOTE: "notes", REFERENCE: "normalisations", ATTRIBUTE: "attributes"}
OTHERS = {"R": "relations", "*": "equivalences"}


@dataclass
class _Entity:
    type: str
    spans: Spans
    words: str
    where: str
    codes: list[Code] = field(default_factory=list)
    noted: list[str] = field(default_factory=list)
    attributes: frozenset[str] = frozenset()


def prepare_brat(
    raw: Path,
    out: Path,
    types: tuple[str, ...] = (),
    types_as_labels: bool = False,
    dry_run: bool = False,
    choices: Choices = EVERYTHING,
    code_pattern: str | None = None,
) -> Provenance:
    """Write a folder of texts and marks as ``train.txt`` with evidence; folders train, valid (dev) and test as three.

    Texts of one name and content in several folders are of several annotators.

    Labels are the codes of normalisations. Where a data set has none at all, they are the codes in notes; where it has
    some, notes are taken for remarks.

    Args:
        raw: The folder; texts may lie in folders below it, also apart from their marks.
        out: The folder to write.
        types: Of entities, all if empty; others are left out and counted.
        types_as_labels: An entity without a code has its type as label. Else it is left out and counted.
        dry_run: Read everything, write nothing.
        choices: What of the annotations counts.
        code_pattern: What a code looks like in notes, a regular expression; of the usual terminologies unless given.

    Raises:
        DataError: A file is missing, a line is not of the format, or a mark does not hold the words that it says.
        PlantError: The folder cannot be written.
    """
    annotations, pattern = Annotations(choices), compiled(code_pattern)
    folders = found_splits(raw, None)
    read = {split: _documents(folder, annotations) for split, folder in folders.items()}
    every = [entity for files in read.values() for _, entities in files.values() for entity in entities]
    normalised = any(entity.codes for entity in every)
    annotations.count("notes_taken_for_remarks", normalised and sum(bool(entity.noted) for entity in every))
    sets: dict[str, list[Annotated]] = {}
    for split, files in read.items():
        by: dict[str, list[Copy]] = {}
        for path, (text, entities) in files.items():
            chosen = [entity for entity in entities if not types or entity.type in types]
            annotations.count("marks_of_other_types", len(entities) - len(chosen))
            marks = []
            for entity in chosen:
                if not normalised:
                    entity.codes = [code for note in entity.noted for code in codes_in(note, pattern)]
                    annotations.count("notes_without_a_code", bool(entity.noted) and not entity.codes)
                otherwise = entity.type if types_as_labels else ""
                marks.append(
                    Annotation(tuple(entity.codes), entity.where, entity.spans, entity.words, entity.where,
                               entity.attributes, otherwise)
                )  # fmt: skip
            document = Annotated(text, str(path), [Annotator(marks)])
            by.setdefault(str(path.parent.relative_to(folders[split])), []).append((path.name, document))
        sets[split] = joined(by, annotations)
    options = {"types": list(types), "types_as_labels": types_as_labels, "code_pattern": code_pattern}
    marked = annotations.marked(sets)
    content = {"command": "prepare brat", "options": {**options, **asdict(choices)}, "counts": dict(annotations.counts)}
    return write_sets(out, {"": marked}, (), content, dry_run, texts=[*raw.rglob("*.txt"), *raw.rglob("*.ann")])


def _documents(folder: Path, annotations: Annotations) -> dict[Path, tuple[str, list[_Entity]]]:
    documents = {}
    for marks, text in texts_with_marks(folder, annotations):
        with annotations.tolerated("documents"):
            documents[marks] = (whole_text(text), _entities(marks, annotations))
    return documents


def _entities(path: Path, annotations: Annotations) -> list[_Entity]:
    entities, later = dict[str, _Entity](), list[tuple[str, re.Match[str]]]()
    events, bad = dict[str, str](), set[str]()
    with text_lines(path, newline=None) as lines:
        for number, line in enumerate(lines, 1):
            where, form = f"{path}, line {number}", FORMS.get(line[:1])
            if form is None:
                annotations.count(f"{OTHERS.get(line[:1], 'other_lines')}_not_read", bool(line.strip()))
                continue
            bad.add(line.partition("\t")[0].partition(" ")[0])
            with annotations.tolerated("marks"):
                match = form.fullmatch(line.rstrip("\n"))
                if match is None:
                    fix = "see https://brat.nlplab.org/standoff.html; columns are separated by one TAB"
                    raise DataError("this is no mark of brat's standoff format", where=where, fix=fix)
                bad.discard(line.partition("\t")[0])
                if form is ENTITY and match["id"] in entities:
                    raise DataError("two marks have one name", where=where, fix="give each a number of its own")
                if form is ENTITY:
                    entities[match["id"]] = _Entity(match["type"], spans_of(match["places"]), match["words"], where)
                elif form is EVENT:
                    events[match["id"]] = match["target"]
                    annotations.not_read("events")
                else:
                    later.append((where, match))
    for where, match in later:
        with annotations.tolerated("marks"):
            _add(entities, events, bad, match, where, annotations)
    return list(entities.values())


def _add(
    entities: Mapping[str, _Entity],
    events: Mapping[str, str],
    bad: set[str],
    match: re.Match[str],
    where: str,
    annotations: Annotations,
) -> None:
    """Add a code, a note or an attribute to the entity that it is about."""
    target = match["target"]
    if match.re is ATTRIBUTE:
        target = events.get(target, target)
    if not target.startswith("T"):  # events and relations have codes and notes too
        annotations.not_read(f"{KINDS[match.re]}_of_events_and_relations")
        return
    if target in bad:  # it went with its mark
        return
    if target not in entities:
        raise DataError("it is about a mark that is not in this file", where=where, fix="take the line out")
    entity = entities[target]
    if match.re is NOTE:
        entity.noted += [match["note"]] if match["note"] else []
    elif match.re is ATTRIBUTE:
        entity.attributes |= annotations.attribute(match["name"], match["value"])
    else:
        annotations.count("codes_without_a_terminology", not match["above"])
        entity.codes.append(Code(match["code"], (match["above"],) if match["above"] else ()))
