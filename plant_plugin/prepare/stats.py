"""The content of training files: sizes, label frequencies, what splits share. Reads them once, a document at a time."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from plant_plugin.data.documents import source_path, without_labels
from plant_plugin.data.evidence import evidence_beside, parts, read_marks
from plant_plugin.data.first_documents import look_at
from plant_plugin.data.label_names import LabelName
from plant_plugin.data.rows import Document
from plant_plugin.data.tables import DEFAULT, TABLES, Columns, LabelColumn, Table, form_of, read_columns
from plant_plugin.data.text import packed
from plant_plugin.data.unicode_forms import alike_line
from plant_plugin.data.words import LETTER, LETTERS, MARKS
from plant_plugin.errors import DataError, needs_extra
from plant_plugin.evaluation.names import BINS
from plant_plugin.files import atomic_write

LOOKED = 1_000  # documents whose shape is looked at
PARTS = re.compile(rf"{LETTER.pattern}|[^{LETTERS}{MARKS}]+")  # of a run: letters of a script without spaces


@dataclass
class EvidenceStats:
    """An evidence file."""

    labels_given: int = 0  # labels of documents that have evidence
    words_each: list[int] = field(default_factory=list, repr=False)  # of the spans
    characters: int = 0  # of all documents' texts
    marked: int = 0  # those of them that are evidence for some label
    in_parts: int = 0  # marks that do not hold together


@dataclass
class FileStats:
    """One file, and the evidence file beside it where there is one."""

    name: str  # as it was asked for
    labels_each: list[int] = field(default_factory=list, repr=False)  # of the documents
    words_each: list[int] = field(default_factory=list, repr=False)  # see :func:`counted_words`
    label_counts: Counter[str] = field(default_factory=Counter, repr=False)  # documents of each label
    texts: Counter[bytes] = field(default_factory=Counter, repr=False)  # documents of each text, by its digest
    evidence: EvidenceStats | None = None
    column: LabelColumn | None = None  # how labels that were one text were separated
    note: str = ""  # what is to be said of how it was read


def read_stats(source: str, columns: Columns = DEFAULT) -> FileStats:
    """Go through a training file (or ``demo:train`` and the like), whose columns have these names if it is a table.

    Raises:
        DataError: The file or the evidence beside it cannot be read, is empty, or has a line of another form; the
            message names the line.
    """
    path, stats = source_path(source), FileStats(source)
    table, looked = Table(path, form_of(path), columns), list[Document]()
    for document in table:
        if len(looked) < LOOKED:
            looked.append(document)
        labels = set(document.labels)
        stats.labels_each.append(len(labels))
        stats.words_each.append(len(counted_words(document.text)))
        stats.label_counts.update(labels)
        stats.texts[hashlib.blake2b(document.text.encode(), digest_size=16).digest()] += 1
    if not stats.labels_each:
        raise DataError("the file holds no document", where=source, fix="check that it was written completely")
    if not any(stats.words_each) and not stats.label_counts:
        raise without_labels(source)
    ids = [document.id for document in looked if document.id is not None]
    texts, labels_of = [document.text for document in looked], [document.labels for document in looked]
    look_at(texts, labels_of, ids, source, named=table.form in TABLES, columns=columns)
    stats.column, stats.note = table.separated, table.note
    evidence = packed(evidence_beside(path))
    if evidence is not None:
        stats.evidence = _evidence_stats(path, evidence, columns)
    return stats


def _evidence_stats(path: Path, evidence: Path, columns: Columns) -> EvidenceStats:
    documents, stats = read_columns(path, columns), EvidenceStats()
    for text, labels in zip(documents.texts, read_marks(evidence, documents), strict=True):
        marked = np.zeros(len(text), bool)
        for spans in parts(labels).values():
            stats.words_each += [len(counted_words(text[start:end])) for start, end in spans]
            for start, end in spans:
                marked[start:end] = True
        stats.in_parts += sum(len(mark) > 1 for marks in labels.values() for mark in marks)
        stats.labels_given += len(labels)
        stats.characters += len(text)
        stats.marked += int(marked.sum())
    return stats


def summary(files: Sequence[FileStats], names: Sequence[LabelName] | None = None) -> list[dict[str, str | int]]:
    """The numbers of each file; the first one counts as the training file; ``names`` are what labels stand for."""
    train, named = files[0], frozenset(label for label, _, _ in names or ())
    rows = []
    for place, stats in enumerate(files):
        row: dict[str, str | int] = {
            "file": stats.name,
            "documents": len(stats.labels_each),
            "documents without labels": stats.labels_each.count(0),
            "documents with a text that came before": sum(stats.texts.values()) - len(stats.texts),
            "labels": len(stats.label_counts),
            "labels a document": spread(stats.labels_each),
            "words": sum(stats.words_each),
            "words a document": spread(stats.words_each),
        }
        if names is not None:
            row["labels with a name"] = len(named & stats.label_counts.keys())
        if line := alike_line(stats.label_counts):
            row["labels alike"] = line
        if stats.note:
            row["read"] = stats.note
        if stats.column and stats.column.said:
            row["labels in a text"] = stats.column.said.removeprefix("labels are ")
        if stats.evidence is not None:
            evidence = stats.evidence
            row["labels given with evidence"] = evidence.labels_given
            row["their share of the labels given"] = share(evidence.labels_given, sum(stats.labels_each))
            row["spans of evidence"] = len(evidence.words_each)
            row["marks in several parts"] = evidence.in_parts
            row["words a span, mean"] = f"{np.mean(evidence.words_each or [0]):.2f}"
            row["share of the text that is evidence"] = share(evidence.marked, evidence.characters)
        if place:
            unseen = stats.label_counts.keys() - train.label_counts.keys()
            row["labels unseen in training"] = len(unseen)
            occurrences = sum(stats.label_counts[label] for label in unseen)
            row["their share of all labels given"] = share(occurrences, stats.label_counts.total())
            if names is not None:
                row["of them with a name"] = len(named & unseen)
        for other in files[:place]:
            shared = sum(number for text, number in stats.texts.items() if text in other.texts)
            row[f"documents whose text is in {other.name}"] = shared
        rows.append(row)
    return rows


def spread(values: Sequence[int]) -> str:
    """Median and the middle half, e.g. ``5 (3 to 8)``."""
    low, middle, high = np.percentile(values, (25, 50, 75))
    return f"{middle:g} ({low:g} to {high:g})"


def share(part: int, whole: int) -> str:
    """A percentage; nothing where there is no whole."""
    return f"{100 * part / whole:.2f} %" if whole else "–"


def frequency_bins(files: Sequence[FileStats]) -> list[tuple[str, int, list[str]]]:
    """For each bin of training documents: its name, its labels, and its share of the labels given in each file."""
    train = files[0].label_counts
    every = set().union(*(stats.label_counts for stats in files))
    rows = []
    for name, (lowest, highest) in BINS.items():
        inside = [label for label in every if lowest <= train[label] and (highest is None or train[label] <= highest)]
        counts = [stats.label_counts for stats in files]
        rows.append(
            (name, len(inside), [share(sum(map(counted.__getitem__, inside)), counted.total()) for counted in counts])
        )
    return rows


def draw_histogram(counts: Iterable[int], path: Path) -> None:
    """A PNG: how many labels have how many training documents, on a logarithmic axis.

    Raises:
        MissingExtraError: matplotlib is not installed.
        PlantError: The file cannot be written.
    """
    with needs_extra("prepare", "the picture needs matplotlib", where="--png", otherwise="or leave out --png"):
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    values = np.fromiter(counts, dtype=np.int64)
    edges = np.unique(np.geomspace(1, max(int(values.max(initial=1)), 2) + 1, 30).astype(np.int64))
    figure = Figure(figsize=(5, 3), dpi=120, layout="constrained")
    axes = figure.add_subplot()
    axes.hist(values, bins=edges.tolist(), color="#4477aa", edgecolor="white", linewidth=0.3)
    axes.set_xscale("log")
    axes.set_xlabel("training documents of a label")
    axes.set_ylabel("labels")
    with atomic_write(path) as temporary:
        FigureCanvasAgg(figure).print_png(str(temporary))


def counted_words(text: str) -> list[str]:
    """Return runs without white space; of a script without spaces, each letter."""
    return text.split() if text.isascii() else [word for run in text.split() for word in PARTS.findall(run)]
