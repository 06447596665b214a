"""Documents in which somebody marked why a label was given, from any source, to training files with their evidence."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unicodedata import normalize

from plant_plugin.data.evidence import evidence_beside, write_evidence
from plant_plugin.data.text import DocumentMarks, Spans, one_label, text_lines
from plant_plugin.errors import DataError
from plant_plugin.prepare.output import PROVENANCE, describe, staged, unnamed, write_names, write_provenance

SPLITS = {"train": ("train", "training"), "valid": ("valid", "validation", "val", "dev"), "test": ("test",)}
PLACES = r"\d{1,18} \d{1,18}(;\d{1,18} \d{1,18})*"  # of a mark, as brat and CodiEsp write them: "start end;start end"
NEITHER_LETTER_NOR_DIGIT = re.compile(r"[\W_]+")

ORDER_MARK = "\ufeff"

Provenance = dict[str, Any]  # what a preparation says it did
Sets = Mapping[str, Mapping[str, Sequence["Marked"]]]  # folder -> split -> documents


@dataclass
class Marked:
    """One document.

    Attributes:
        text: As the source has it, so that its places are the source's.
        labels: Each label once, in the source's order, with its marks in ``text``; possibly none.
    """

    text: str = field(repr=False)
    labels: DocumentMarks = field(default_factory=dict)

    def label(self, name: str, where: str) -> list[Spans]:
        """Give the document a label, white space in it as ``_``, and return its marks to be added to.

        Raises:
            DataError: The name is empty; with ``where``.
        """
        if not (label := one_label(name)):
            raise DataError("a label without a name", where=where, fix="give it a name, or take it out")
        return self.labels.setdefault(label, [])

    def mark(self, name: str, spans: Spans, where: str, covered: str | None = None) -> None:
        """Give the document a label and the spans it was given for.

        Args:
            name: The label.
            spans: In characters of ``text``, the end behind the last; several where the mark is discontinuous.
            where: File and line, for errors.
            covered: What the source says is there.

        Raises:
            DataError: A span is outside the text, all hold white space alone, or the text there is another.
        """
        for start, end in spans:
            if not 0 <= start <= end <= len(self.text):
                what = f"a span is not inside the text of {len(self.text):,} characters"
                raise DataError(what, where=where, fix="the text was changed since, or is another document's")
        # brat leaves pieces without anything where a mark goes over the end of a line.
        held = [(start, end) for start, end in spans if self.text[start:end].strip()]
        if not held:
            raise DataError("the mark holds no word", where=where, fix="mark words, or take this mark out")
        if covered is not None and not covers(self.text, spans, covered):
            fix = "take texts and marks of one version, with the line ends that they were marked with"
            raise DataError("the marked text is not what stands there: it was changed since", where=where, fix=fix)
        self.label(name, where).append(held)


def spans_of(places: str) -> Spans:
    """Spans written as ``PLACES``."""
    return [(int(start), int(end)) for start, end in (place.split(" ") for place in places.split(";"))]


def covers(text: str, spans: Spans, covered: str) -> bool:
    """Tell whether spans hold the words that a source says they hold.

    White space and punctuation do not count, because sources differ in both: CodiEsp's references, for one, lack
    the full stop that some of their spans end with.
    """
    there, covered = (normalize("NFC", part) for part in ("".join(text[a:b] for a, b in spans), covered))
    words = NEITHER_LETTER_NOR_DIGIT.sub("", covered)
    if not words:
        return "".join(there.split()) == "".join(covered.split())
    return NEITHER_LETTER_NOR_DIGIT.sub("", there) == words


def flattened(text: str) -> tuple[str, list[int]]:
    """A text on one line, each run of white space one space and none at the ends, and where each character went.

    Byte order marks are left out: they are of the file, not of the text.
    """
    if " ".join(text.split()) == text and ORDER_MARK not in text:
        return text, list(range(len(text)))
    characters: list[str] = []
    places: list[int] = []
    for character in text:
        if not character.isspace():
            characters += character.replace(ORDER_MARK, "")
        elif characters and characters[-1] != " ":
            characters.append(" ")
        places.append(max(len(characters) - 1, 0))
    return "".join(characters).rstrip(" "), places


def found_splits(raw: Path, ending: str | None) -> dict[str, Path]:
    """Find each split below a folder; all is training where nothing is called train.

    Args:
        raw: A folder that holds a file or folder for each split, or the only file or folder itself.
        ending: Of files, e.g. ``.json``; None: splits are folders.

    Raises:
        DataError: There is no such file or folder, or a split but none for training, or several files of no split.
    """
    if not (raw.is_dir() or (raw.is_file() and ending is not None)):
        raise DataError("no such file or folder", where=str(raw), fix="check --raw")
    if raw.is_file():
        return {"train": raw}
    inside = [path for path in sorted(raw.iterdir()) if (path.is_dir() if ending is None else path.suffix == ending)]
    inside = [path for path in inside if path.name != PROVENANCE]
    split_paths = {}
    for split, names in SPLITS.items():
        fitting = [path for path in inside if path.stem.lower() in names]
        if len(fitting) > 1:
            what = f"{fitting[0].name} and {fitting[1].name} are both for {split}"
            raise DataError(what, where=str(raw), fix="leave one of them there")
        if fitting:
            split_paths[split] = fitting[0]
    if split_paths and "train" not in split_paths:
        raise DataError(f"{', '.join(split_paths)}, but nothing called train", where=str(raw), fix="call it train")
    if split_paths or ending is None:
        return split_paths or {"train": raw}
    if len(inside) != 1:
        fix = f"call them train{ending}, valid{ending} and test{ending}, or name one with --raw"
        raise DataError(f"files *{ending}: {len(inside)}, none called train{ending}", where=str(raw), fix=fix)
    return {"train": inside[0]}


def whole_text(path: Path) -> str:
    """A text file with its line ends as they are, because places count them.

    Raises:
        DataError: It cannot be read or is not UTF-8.
    """
    with text_lines(path, newline="", encoding="utf-8") as stream:
        return "".join(stream)


def write_sets(
    out: Path,
    sets: Sets,
    sources: Iterable[Path],
    content: Mapping[str, Any],
    dry_run: bool = False,
    names: Mapping[str, Mapping[str, str]] | None = None,
    texts: Iterable[Path] = (),
    beside: Mapping[str, str] | None = None,
) -> Provenance:
    """Write ``train.txt``, ``train_evidence.tsv`` and so on of each set, all or none, with a ``provenance.json``.

    Documents without a label are left out and counted. A split where nothing is marked gets no evidence file.

    Args:
        out: The folder; sets lie in folders below it, called as ``sets`` says (``""``: in ``out`` itself).
        sets: The documents.
        sources: Files to name in the provenance.
        content: Of the provenance: ``command``, ``options``, ``counts``.
        dry_run: Write nothing.
        names: Of each set what labels stand for.
        texts: Files that were read too, and whose names may be a patient's.
        beside: Names and content of further files of each set.

    Returns:
        ``counts`` of the whole and ``sets``, for each folder its counts.

    Raises:
        DataError: No document for training has a label.
        PlantError: The folder cannot be written, or a file that was read would be replaced.
    """
    counts_of = {}
    of_set = {name: (names or {}).get(name, {}) for name in sets}
    for name, splits in sets.items():
        counts_of[name] = _counted(splits) | unnamed(_labels(splits), of_set[name])
        if not counts_of[name]["train"]:
            fix = "check that marks carry codes (brat: or --types-as-labels), and that no option leaves out all"
            raise DataError("no document for training has a label", where=f"--raw, {name or 'train'}", fix=fix)
    if not dry_run:
        sources = list(sources)
        described = describe(sources)
        with staged(out, [*sources, *texts]) as stage:
            for name, splits in sets.items():
                folder = stage / name
                folder.mkdir(exist_ok=True)
                for split, documents in splits.items():
                    _write_split(folder / f"{split}.txt", [document for document in documents if document.labels])
                write_names(folder, _labels(splits), of_set[name])
                write_beside(folder, beside or {})
                counts = {**content["counts"], **counts_of[name]}
                write_provenance(folder, {**content, "sources": described, "counts": counts})
    return {"counts": content["counts"], "sets": counts_of}


def write_beside(folder: Path, content: Mapping[str, str]) -> None:
    """Write files by their names, before the provenance that lists them."""
    for name, text in content.items():
        (folder / name).write_text(text, encoding="utf-8", newline="")


def _counted(splits: Mapping[str, Sequence[Marked]]) -> dict[str, int]:
    documents = [document for part in splits.values() for document in part]
    marks = [set(map(tuple, marks)) for document in documents for marks in document.labels.values()]
    spans = [{part for mark in document_marks for part in mark} for document_marks in marks]
    return {
        **{split: sum(bool(document.labels) for document in part) for split, part in splits.items()},
        "documents_without_label_left_out": sum(not document.labels for document in documents),
        "labels": len(_labels(splits)),
        "labels_of_documents": len(spans),
        "labels_of_documents_with_evidence": sum(map(bool, spans)),
        "spans": sum(map(len, spans)),
        "marks_in_several_parts": sum(len(mark) > 1 for document_marks in marks for mark in document_marks),
    }


def _labels(splits: Mapping[str, Sequence[Marked]]) -> set[str]:
    return {label for part in splits.values() for document in part for label in document.labels}


def _write_split(path: Path, documents: Sequence[Marked]) -> None:
    evidence: list[DocumentMarks] = []
    with open(path, "w", encoding="utf-8", newline="\n") as stream:
        for document in documents:
            text, places = flattened(document.text)
            stream.write(f"{' '.join(document.labels)}\t{text}\n")
            evidence.append(
                {label: _moved(marks, places, len(text)) for label, marks in document.labels.items() if marks}
            )
    if any(evidence):
        write_evidence(evidence_beside(path), evidence)


def _moved(marks: list[Spans], places: list[int], length: int) -> list[Spans]:
    """Marks where their characters went, each once, sorted."""
    moved = (sorted({(places[start], min(places[end - 1] + 1, length)) for start, end in mark}) for mark in marks)
    return [list(mark) for mark in sorted({tuple(mark) for mark in moved})]
