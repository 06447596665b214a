"""``promises.json`` in a run's folder: what each promise reached on validation documents and on those of the test."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from typing_extensions import TypedDict

from plant_plugin.evaluation.promises import Outcome
from plant_plugin.files import read_json, write_json
from plant_plugin.report.record import FIRST_PASS

PROMISES = "promises.json"


class Promises(TypedDict, total=False):
    """The content of the file, by the name of the threshold."""

    val: dict[str, Outcome]
    test: dict[str, Outcome]


def read_promises(folder: Path) -> Promises:
    """Read the file, empty where there is none; a second training has no validation documents, and takes the first's.

    Raises:
        CheckpointError: It is torn.
    """
    for path in (folder / PROMISES, folder / FIRST_PASS / PROMISES):
        if path.is_file():
            promises: Promises = read_json(path, Promises, what="what a model promises", fix="remove it")
            return promises
    return {}


def note_promises(folder: Path, split: Literal["val", "test"], outcomes: Mapping[str, Outcome]) -> None:
    """Write what promises do to the documents of a split."""
    write_json(folder / PROMISES, {**read_promises(folder), split: dict(outcomes)})
