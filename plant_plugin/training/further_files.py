"""Files of a model that is trained further: new documents, read as those before were, and tests written as text."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path

from plant_plugin.config import Config
from plant_plugin.data.documents import AS_TEXT, COLUMN_KEYS, Split, read_as_text, read_documents
from plant_plugin.data.evidence import evidence_beside, read_evidence
from plant_plugin.data.label_column import Trained
from plant_plugin.data.text import packed
from plant_plugin.errors import DataError
from plant_plugin.files import write_text


def how_read(before: Config, flags: Mapping[str, object]) -> Config:
    """Return the configuration that new files are read by, each by its ending: the one before, but for flags."""
    changed = {key: value for key, value in flags.items() if key in COLUMN_KEYS}
    by_ending = {key: value for key, value in AS_TEXT.items() if value is not None}
    return dataclasses.replace(before, **by_ending, **changed)  # type: ignore[arg-type]


def new_documents(file: Path, reading: Config, after: Trained) -> Split:
    """Read the documents of a file that have labels, with the evidence that lies beside it.

    Raises:
        DataError: A file cannot be read, or no document has a label.
    """
    documents, beside = read_documents(str(file), reading, after), packed(evidence_beside(file))
    evidence = None if beside is None else read_evidence(beside, documents)
    rows = [row for row, labels in enumerate(documents.labels) if labels]
    if not rows:
        raise DataError("no document has a label", where=str(file), fix="each line must be 'labels TAB text'")
    texts, labels = [documents.texts[row] for row in rows], [documents.labels[row] for row in rows]
    of_rows = None if evidence is None else [evidence[row] for row in rows]
    return Split(texts, labels, dropped=documents.dropped, evidence=of_rows, name="train")


def write_test_file(file: str, reading: Config, before: Config, folder: Path, after: Trained) -> Path | None:
    """Write a test file that the new run would read otherwise to a folder; None where it can be named as it is."""
    if reading in (before, how_read(before, {})) and read_as_text(file, before):
        return None
    tested = read_documents(file, reading, after)
    lines = zip(tested.labels, tested.texts, strict=True)
    write_text(folder / "test.txt", "".join(f"{' '.join(labels)}\t{plain(text)}\n" for labels, text in lines))
    return folder / "test.txt"


def plain(text: str) -> str:
    """Return a text without line ends and TABs, as the text format has it."""
    return " ".join(text.split())
