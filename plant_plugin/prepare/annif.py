"""Annif's corpora: documents with subjects, which are URIs, names or both.

- ``.tsv``: ``text TAB <uri> <uri>``; ``.csv``: the columns ``text`` and ``subject_uris``
- ``.jsonl``: objects with ``text`` and ``subjects``, a list of objects with ``uri`` or ``label``
- a folder of ``case.txt`` with ``case.tsv`` (``<uri> TAB name``) or ``case.key`` (a name a line), or of ``case.json``

Source: the Annif wiki, "Document corpus formats".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plant_plugin.data.row_formats import csv_rows
from plant_plugin.data.text import one_label, parsed_json, plain_name, text_lines
from plant_plugin.errors import DataError
from plant_plugin.prepare.corpora import Corpus, content_lines, labelled, splits_of

BRACKETS = re.compile(r"<([^<>\s]+)>")
ADDRESS = re.compile(r"<[^<>\s]+>|[A-Za-z][A-Za-z0-9+.-]*:\S+")
TABLES = (".tsv", ".csv", ".jsonl", ".ndjson")
SUBJECTS = (".tsv", ".key")  # the first that is there, as Annif does
READ = {"text", "subjects", "document_id", "id"}
ONE_TAB = "a line has to be text TAB <uri> <uri>; --skip-bad passes over others and counts them"


@dataclass(frozen=True)
class Subject:
    """A subject of a document: its address, its name, or both."""

    uri: str = ""
    name: str = ""


Row = tuple[str, str, list[Subject]]  # place, text, subjects


def prepare_annif(
    raw: Path, out: Path, vocabulary: Path | None = None, skip_bad: bool = False, dry_run: bool = False
) -> dict[str, Any]:
    """Write a corpus of Annif as ``train.txt``, and ``valid.txt`` and ``test.txt`` where there are such files.

    Labels are URIs; of a subject that has none, the URI that its name has elsewhere, or else the name. Names go into
    ``label_names.tsv``.

    Args:
        raw: A file, a folder of texts, or a folder with a file or folder for each split.
        out: The folder to write.
        vocabulary: Lines of ``<uri> TAB name``.
        skip_bad: Pass over lines without subjects' URIs, and count them.
        dry_run: Read everything, write nothing.

    Raises:
        DataError: A file cannot be read or is not of the format, or no document for training has a label.
        PlantError: The folder cannot be written.
    """
    reader = _Reader(Corpus(), skip_bad)
    rows = {split: list(reader.rows(path)) for split, path in _places(raw).items()}
    names: dict[str, str] = {}
    listed = [] if vocabulary is None else _vocabulary(vocabulary)
    for subject in (*listed, *(subject for part in rows.values() for _, _, subjects in part for subject in subjects)):
        if subject.uri and subject.name:
            names.setdefault(subject.uri, subject.name)
    uris: dict[str, set[str]] = {}
    for subject in (*listed, *(Subject(uri, name) for uri, name in names.items())):
        uris.setdefault(subject.name, set()).add(subject.uri)
    corpus = reader.corpus
    corpus.sources += [] if vocabulary is None else [vocabulary]

    def label(subject: Subject) -> str:
        of_name = uris.get(subject.name, set())
        if not subject.uri and len(of_name) != 1:
            corpus.counts["subjects_without_a_uri"] += 1
            corpus.names.setdefault(one_label(subject.name), subject.name)
            return subject.name
        uri = subject.uri or next(iter(of_name))
        corpus.names.setdefault(one_label(uri), names.get(uri, ""))
        return uri

    for split, part in rows.items():
        corpus.splits[split] = [labelled(text, list(map(label, subjects)), where) for where, text, subjects in part]
    options = {"vocabulary": vocabulary is not None, "skip_bad": skip_bad}
    return corpus.write(raw, out, "prepare annif", options, dry_run)


def _vocabulary(path: Path) -> list[Subject]:
    subjects = []
    for where, line in content_lines(path):
        uri, tab, name = line.partition("\t")
        if not tab or not ADDRESS.fullmatch(uri.strip()):
            raise DataError("no URI and name", where=where, fix="each line has to be <uri> TAB name")
        subjects.append(Subject(_bare(uri.strip()), name.split("\t")[0].strip()))
    return subjects


def _bare(uri: str) -> str:
    match = BRACKETS.fullmatch(uri)
    return match[1] if match else uri


def _places(raw: Path) -> dict[str, Path]:
    """Return the file or folder of each split: of texts where subjects lie beside them, else of tables or folders."""
    if not raw.is_dir():
        return {"train": raw}
    inside = list(raw.iterdir())
    if any(path.suffix == ".txt" for path in inside):
        return {"train": raw}
    tables = [path for path in inside if path.is_file() and plain_name(path).suffix in TABLES]
    folders = [path for path in inside if path.is_dir()]
    if not tables and any(path.suffix == ".json" for path in inside):
        return {"train": raw}
    if not tables and not folders:
        fix = "give .tsv, .csv or .jsonl, a folder of .txt with .key or .tsv, or folders train and test of such"
        raise DataError("no corpus of Annif", where=str(raw), fix=fix)
    return splits_of(raw, tables or folders)


@dataclass
class _Reader:
    """Reads documents with their subjects, and counts what is passed over."""

    corpus: Corpus
    skip_bad: bool

    def rows(self, path: Path) -> Iterator[Row]:
        """Yield the documents of a file or folder."""
        if path.is_dir():
            return self._folder(path)
        self.corpus.sources.append(path)
        suffix = plain_name(path).suffix
        if suffix == ".csv":
            return self._table(path)
        first = next((line for _, line in content_lines(path)), "")
        return self._objects(path) if suffix in TABLES[2:] or first.startswith("{") else self._lines(path)

    def _lines(self, path: Path) -> Iterator[Row]:
        for where, line in content_lines(path):
            text, tab, uris = line.partition("\t")
            if tab and all(map(ADDRESS.fullmatch, uris.split())):
                yield where, text, [Subject(_bare(uri)) for uri in uris.split()]
            else:
                self._bad(DataError("no URIs of subjects after one TAB", where=where, fix=ONE_TAB))

    def _bad(self, error: DataError) -> None:
        if not self.skip_bad:
            raise error
        self.corpus.counts["bad_lines_left_out"] += 1

    def _table(self, path: Path) -> Iterator[Row]:
        with text_lines(path, newline="") as lines:
            rows = csv_rows(lines, "text")
            line, header = next(rows, (1, []))
            if isinstance(header, DataError) or not {"text", "subject_uris"}.issubset(header):
                fix = "Annif's CSV has these columns; for others see plant train --help"
                raise DataError("no columns text and subject_uris", where=f"{path}, line {line}", fix=fix)
            for line, row in rows:
                where = f"{path}, line {line}"
                if isinstance(row, DataError):
                    self._bad(DataError(row.what, where=where, fix=row.fix))
                    continue
                cells = dict(zip(header, row, strict=True))
                uris = cells["subject_uris"].split()
                if all(map(ADDRESS.fullmatch, uris)):
                    self._unread(cells.keys() - {"text", "subject_uris", "document_id"})
                    yield where, cells["text"], [Subject(_bare(uri)) for uri in uris]
                else:
                    fix = "subject_uris holds URIs with spaces between them; --skip-bad passes over others"
                    self._bad(DataError("something that is no URI", where=where, fix=fix))

    def _unread(self, keys: object) -> None:
        self.corpus.counts["documents_with_more_than_text_and_subjects"] += bool(keys)

    def _objects(self, path: Path) -> Iterator[Row]:
        for where, line in content_lines(path):
            try:
                yield self._object(parsed_json(line, where), where)
            except DataError as error:
                self._bad(error)

    def _object(self, content: object, where: str) -> Row:
        fix = 'an object has to be like {"text": "…", "subjects": [{"uri": "…", "label": "…"}]}'
        if not isinstance(content, dict) or not isinstance(content.get("text"), str):
            raise DataError("no object with a text", where=where, fix=fix)
        subjects = content.get("subjects") or []
        if not isinstance(subjects, list):
            raise DataError("subjects are no list", where=where, fix=fix)
        listed = list[Subject]()
        for subject in subjects:
            entry = {"uri" if ADDRESS.fullmatch(subject) else "label": subject} if isinstance(subject, str) else subject
            pair = [entry.get(key) or "" for key in ("uri", "label")] if isinstance(entry, dict) else []
            if not any(pair) or not all(isinstance(part, str) for part in pair):
                raise DataError("a subject without uri or label", where=where, fix=fix)
            listed.append(Subject(_bare(pair[0].strip()), pair[1].strip()))
        self._unread({key for key, value in content.items() if value} - READ)
        return where, content["text"], listed

    def _folder(self, folder: Path) -> Iterator[Row]:
        texts = sorted(path for path in folder.iterdir() if path.suffix in (".txt", ".json"))
        names = {path.stem for path in texts}
        alone = [path for path in folder.iterdir() if path.suffix in SUBJECTS and path.stem not in names]
        self.corpus.counts["subjects_without_a_text"] += len(alone)
        if not texts:
            raise DataError("no .txt and no .json", where=str(folder), fix="put texts with .key or .tsv there")
        for path in texts:
            self.corpus.texts.append(path)
            text = "\n".join(line for _, line in content_lines(path))
            if path.suffix == ".json":
                yield self._object(parsed_json(text, str(path)), str(path))
                continue
            beside = next((file for end in SUBJECTS if (file := path.with_suffix(end)).is_file()), None)
            subjects = list[Subject]()
            if beside is not None:
                self.corpus.texts.append(beside)
                subjects = [_subject(line) for _, line in content_lines(beside)]
            yield str(path), text, subjects


def _subject(line: str) -> Subject:
    """Read a line of ``.key`` or ``.tsv``: a name, or ``<uri> TAB name``."""
    cells = [cell.strip() for cell in line.split("\t") if cell.strip()]
    uris = [cell for cell in cells if BRACKETS.fullmatch(cell)]
    names = [cell for cell in cells if cell not in uris]
    return Subject(_bare(uris[0]) if uris else "", names[0] if names else "")
