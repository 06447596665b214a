"""A user's documents as files of three splits, the same for every system of a comparison."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable
from pathlib import Path

from plant_plugin.config.sections import Settings
from plant_plugin.config.values import Keys
from plant_plugin.data.documents import COLUMN_KEYS, FILES, SPLIT_SEED, file_of, read_documents
from plant_plugin.data.evidence import evidence_beside, read_evidence, write_evidence
from plant_plugin.data.names_beside import names_in
from plant_plugin.data.repetitions import drawn_apart
from plant_plugin.data.text import Documents, packed
from plant_plugin.errors import DataError
from plant_plugin.files import atomic_write

SHARE = 0.2  # of the documents for the test, then of those that stay for validation


def held_out(settings: Settings, folder: Path) -> Keys:
    """Return the keys of three files; those that the configuration does not name are drawn and written to ``folder``.

    Documents are drawn by a seed of its own, so every call draws the same, and no text is in two files. Evidence and
    names of labels that lie beside the training file lie beside the new one.

    Raises:
        DataError: The file cannot be read, or has too few documents.
    """
    given = {key: getattr(settings, key) for key in FILES.values()}
    if all(given.values()):
        return given
    source = file_of(given[FILES["train"]], settings)
    documents = read_documents(given[FILES["train"]], settings)
    if evidence := packed(evidence_beside(source)):
        documents.evidence = read_evidence(evidence, documents)
    rows = {"train": [*range(len(documents))]}
    for name in ("test", "val"):
        if given[FILES[name]]:
            continue
        staying = rows["train"]
        try:
            parts = drawn_apart(Documents([documents.texts[row] for row in staying]), SHARE, SPLIT_SEED)
        except ValueError:
            raise DataError(
                f"too few documents to draw from: {len(staying)}",
                where=str(source),
                fix="give more documents, or files of your own with --val_file and --test_file",
            ) from None
        rows["train"], rows[name] = (sorted(staying[place] for place in places) for places in parts)
    folder.mkdir(parents=True, exist_ok=True)
    if names := names_in(source.parent):
        shutil.copyfile(names, folder / names.name)
    for name, chosen in rows.items():
        given[FILES[name]] = str(_written(documents, chosen, folder / f"{name}.jsonl", settings))
    return given


def _written(documents: Documents, rows: Iterable[int], path: Path, settings: Settings) -> Path:
    """Write documents, without ids, as JSON lines, and their evidence beside them.

    The names are those by which files that were given are read, and ASCII is the same in the encodings of these.
    """
    text, labels = (getattr(settings, key) for key in COLUMN_KEYS[:2])
    with atomic_write(path) as temporary, temporary.open("w") as stream:
        for row in rows:
            stream.write(json.dumps({text: documents.texts[row], labels: documents.labels[row]}) + "\n")
    if evidence := documents.evidence:
        write_evidence(
            evidence_beside(path),
            ({label: [[span] for span in spans] for label, spans in evidence[row].items()} for row in rows),
        )
    return path
