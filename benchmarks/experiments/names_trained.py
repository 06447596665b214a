"""Labels that training never shows, found by what the product learns of names, without the rest of a model.

    PYTHONPATH=benchmarks python benchmarks/experiments/names_trained.py DATA MODELS SPLIT SEEDS DATA_SET ...

DATA holds the data sets with their names (label_names.py), MODELS keeps what was learned. The network and the planted
scores say nothing of labels that no document has, so that a ranking of these needs no more than :class:`.OpenLabels`,
fitted to all training documents. Phrases are those of the evidence; where there is none, there are none. Where a data
set has more names than ``MOST_NAMES``, only those of its own labels are read, and only used labels are ranked.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from name_baselines import TASKS
from sklearn.preprocessing import MultiLabelBinarizer
from unseen import rows_of
from zero_shot import PAGE, RESULTS, Task, keep, page, read_task

from plant_plugin.data.documents import LABEL_NAMES
from plant_plugin.data.evidence import evidence_beside, read_evidence
from plant_plugin.data.label_names import LabelName, label_name_rows
from plant_plugin.data.tables import read_any
from plant_plugin.files import read_json, write_text
from plant_plugin.relevance.names.open_labels import NAMES_FILE, OpenLabels
from plant_plugin.relevance.phrases import PlantedPhrases

MOST_NAMES = 200_000


def ranked(task: Task) -> Task:
    """Return the task with used labels alone where it has too many names."""
    if len(task.names) <= MOST_NAMES:
        return task
    used = task.labels[: task.used]
    names = [row for row in task.names if row.label in set(used)]
    return replace(task, labels=used, truth=task.truth[:, : task.used], names=names)


def learned(data: Path, task: Task, seed: int, folder: Path) -> OpenLabels:
    """Fit what names say to the training documents, or read what an earlier call has kept."""
    file = data / task.name / "train.txt"
    documents = read_any(file)
    labels = sorted({label for each in documents.labels for label in each})
    phrases, evidence = None, None
    if evidence_beside(file).is_file():
        evidence = read_evidence(evidence_beside(file), documents)
        ones = MultiLabelBinarizer(classes=labels, sparse_output=True).fit_transform(documents.labels)
        phrases = PlantedPhrases.fit(documents.texts, ones, evidence, labels)
    if not (folder / NAMES_FILE).is_file():
        named = names_read(data, task, labels)
        fitted = OpenLabels.fit(named, labels, documents.texts, documents.labels, evidence, phrases, seed)
        folder.mkdir(parents=True, exist_ok=True)
        fitted.save(folder)
    return OpenLabels.load(folder, labels, phrases)


def names_read(data: Path, task: Task, labels: Sequence[str]) -> list[LabelName]:
    """Return the names of training labels and of those that are ranked."""
    wanted = {*labels, *task.labels}
    return [row for row in label_name_rows([str(data / task.name / LABEL_NAMES)]) if row.label in wanted]


def measured(data: Path, models: Path, name: str, split: str, seeds: int) -> list[dict[str, Any]]:
    """Rows of the page of a data set and split."""
    [task] = [read_task(data, *each) for each in TASKS if each[:2] == (name, split)]
    task = ranked(task)
    rows = []
    for seed in range(1, seeds + 1):
        rows += rows_of(task, "names, trained", seed, learned(data, task, seed, models / f"{name}-{seed}"))
    return rows


def main(data: Path, models: Path, split: str, seeds: int, names: Sequence[str]) -> None:
    """Add the rows of some data sets to the page."""
    for name in names:
        rows = measured(data, models, name, split, seeds)
        keep(rows)
        write_text(PAGE, page(read_json(RESULTS, list, what="results", fix="make them again")))
        for row in rows:
            shown = {key: round(each, 1) for key, each in row["metrics"].items()}
            print(name, split, row["among"], row["method"], shown)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]), sys.argv[5:])
