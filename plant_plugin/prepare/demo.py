"""The built-in made-up discharge summaries, at any size. Importing this module reads all of ICD-10-CM (seconds)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from plant_plugin.data.demo import SPLITS
from plant_plugin.prepare.demo_notes import GENERATOR_VERSION, DemoOptions, write_notes
from plant_plugin.prepare.output import staged, write_provenance

VALID, TEST, WHOLE = 3, 5, 28  # parts of all documents, those of the built-in data: 300 and 500 of 2,800


def sized(documents: int, labels: int, seed: int) -> DemoOptions:
    """Options for so many documents in all; 2,800 with the built-in seed and labels are ``demo:train`` and siblings."""
    valid, test = documents * VALID // WHOLE, documents * TEST // WHOLE
    return DemoOptions(seed=seed, train=documents - valid - test, valid=valid, test=test, labels=labels)


def prepare_demo(out: Path, documents: int, labels: int, seed: int, dry_run: bool = False) -> dict[str, Any]:
    """Write ``train.txt``, ``valid.txt``, ``test.txt`` and ``provenance.json``, a document at a time.

    A ``dry_run`` draws the same documents, so that it can tell how many labels they have, and writes nothing.

    Raises:
        ConfigError: More labels than there are codes.
        PlantError: The folder cannot be written.
    """
    options = sized(documents, labels, seed)
    notes, given = write_notes(options), set[str]()
    counts = {split: getattr(options, split) for split in SPLITS}
    if dry_run:
        for split in SPLITS:
            deque(_noted(notes[split], given), maxlen=0)
        return {"counts": {**counts, "labels": len(given)}, "sets": {}}
    with staged(out) as stage:
        for split in SPLITS:
            with open(stage / f"{split}.txt", "w", encoding="utf-8", newline="\n") as stream:
                stream.writelines(_noted(notes[split], given))
        counts["labels"] = len(given)
        versions = {"generator": GENERATOR_VERSION, "simple-icd-10-cm": version("simple-icd-10-cm")}
        content = {"command": "prepare demo", "options": {**asdict(options), **versions}, "sources": []}
        write_provenance(stage, {**content, "counts": counts})
    return {"counts": counts, "sets": {}}


def _noted(lines: Iterator[str], given: set[str]) -> Iterator[str]:
    """The lines as they are; their labels go into ``given``."""
    for line in lines:
        given.update(line.partition("\t")[0].split())
        yield line
