"""Corpora of other programs for texts with labels, without marks: their splits, and fastText's lines.

fastText: a document a line, in which every word that begins with ``__label__`` is a label and the others are the text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from plant_plugin.data.foreign_files import PREFIX, fasttext_document
from plant_plugin.data.text import text_lines
from plant_plugin.errors import DataError
from plant_plugin.prepare.marked.marked import SPLITS, Marked, write_sets

NAMES = {**SPLITS, "valid": (*SPLITS["valid"], "validate")}
PARTS = re.compile(r"[^a-z]+")


@dataclass
class Corpus:
    """The documents of each split, and what is to be said of them.

    Attributes:
        splits: The documents.
        counts: What was passed over; nothing in it is a text.
        sources: Files to name in the provenance.
        texts: Files that were read too, and whose names may be a patient's.
        names: What labels stand for.
    """

    splits: dict[str, list[Marked]] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    sources: list[Path] = field(default_factory=list)
    texts: list[Path] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)

    def write(self, raw: Path, out: Path, command: str, options: Mapping[str, object], dry_run: bool) -> dict[str, Any]:
        """Write the files of each split; see :func:`.marked.write_sets`.

        Raises:
            DataError: No document for training has a label.
            PlantError: The folder cannot be written, or a file that was read would be replaced.
        """
        if not any(document.labels for document in self.splits["train"]):
            fix = f"see plant {command} --help for what it reads"
            raise DataError("no document for training has a label", where=str(raw), fix=fix)
        content = {"command": command, "options": options, "counts": dict(self.counts)}
        names = {"": self.names}
        return write_sets(out, {"": self.splits}, self.sources, content, dry_run, names=names, texts=self.texts)


def splits_of(raw: Path, paths: Iterable[Path]) -> dict[str, Path]:
    """Find each split by a part of the name of its file or folder: ``cooking.train``, ``yso-test.tsv.gz``.

    A single one without such a part is training.

    Raises:
        DataError: There is none, none for training, several for a split, or several of no split.
    """
    split_paths: dict[str, Path] = {}
    others = list[Path]()
    for path in sorted(paths):
        parts = set(PARTS.split(path.name.lower()))
        fitting = [split for split, names in NAMES.items() if parts.intersection(names)]
        if len(fitting) != 1:
            others.append(path)
        elif (other := split_paths.setdefault(fitting[0], path)) is not path:
            what = f"{other.name} and {path.name} are both for {fitting[0]}"
            raise DataError(what, where=str(raw), fix="leave one of them there")
    if not split_paths and len(others) == 1:
        return {"train": others[0]}
    if "train" not in split_paths:
        what = f"files: {len(others) + len(split_paths)}, none of them called train"
        raise DataError(what, where=str(raw), fix="call one train, and others valid and test; or name a single file")
    if others:
        what = f"{others[0].name} is of no split, or of several ({len(others)} such in all)"
        raise DataError(what, where=str(raw), fix="put train, valid and test into a folder of their own")
    return split_paths


def prepare_fasttext(raw: Path, out: Path, prefix: str = PREFIX, dry_run: bool = False) -> dict[str, Any]:
    """Write fastText's lines as ``train.txt``, and ``valid.txt`` and ``test.txt`` where there are such files.

    Args:
        raw: A file, or a folder with a file for each split.
        out: The folder to write.
        prefix: Of words that are labels.
        dry_run: Read everything, write nothing.

    Raises:
        DataError: A file cannot be read, a label has no name, or no document for training has a label.
        PlantError: The folder cannot be written.
    """
    if not prefix.strip() or len(prefix.split()) > 1:
        raise DataError("no prefix", where="--prefix", fix=f"a word that begins the labels, e.g. {PREFIX}")
    corpus, files = Corpus(), _files(raw)
    for split, path in files.items():
        corpus.sources.append(path)
        corpus.splits[split] = list(_fasttext(path, prefix.strip()))
    if not any(document.labels for document in corpus.splits["train"]):
        what = f"no word begins with {prefix[:40]!r}"
        raise DataError(what, where=str(files["train"]), fix="name what begins labels with --prefix")
    return corpus.write(raw, out, "prepare fasttext", {"prefix": prefix}, dry_run)


def _files(raw: Path) -> dict[str, Path]:
    if raw.is_dir():
        return splits_of(raw, (path for path in raw.iterdir() if path.is_file() and path.suffix != ".json"))
    return {"train": raw}


def _fasttext(path: Path, prefix: str) -> Iterator[Marked]:
    for where, line in content_lines(path):
        try:
            labels, text = fasttext_document(line, prefix)
        except DataError as error:
            raise DataError(error.what, where=where, fix=error.fix) from None
        yield labelled(text, labels, where)


def content_lines(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the place and the content of each line that holds something; a ``DataError`` where that is no text."""
    with text_lines(path, newline=None) as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                yield f"{path}, line {number}", line.rstrip("\n")


def labelled(text: str, labels: Sequence[str], where: str) -> Marked:
    """Return a document with labels that nothing in the text is marked for."""
    document = Marked(text)
    for label in labels:
        document.label(label, where)
    return document
