"""How many labels that training never shows are found by a model that reads names; what `open_labels` measures.

The same protocol and the same page as of programs of others: `name_baselines.py`, `../zero_shot.py`. Models are those
that are still in the work folder.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from definitions import Planned
from name_baselines import TASKS
from run import finished, place_of
from zero_shot import PAGE, RESULTS, Metrics, Scores, Task, evaluated, keep, page, read_task, zero_shot_metrics

from plant_plugin.files import read_json, write_text
from plant_plugin.model.predictor import Predictor
from plant_plugin.relevance.names.learning import spoken_words
from plant_plugin.relevance.names.open_labels import OpenLabels
from plant_plugin.relevance.phrases import words_of

ALONE = ", asked for used labels alone"


def scores_of(names: OpenLabels, task: Task, labels: int) -> Scores:
    """Log odds by names of the first unseen labels of a task, which alone are looked for, (N, U); -inf: not proposed.

    With all labels of a task these are what the product says.
    """
    index, column_of = names.proposer.index, {label: column for column, label in enumerate(task.labels[:labels])}
    places = np.array([column_of.get(label, -1) for label in index.labels])
    seen = {label for label, there in zip(names.labels, names.seen, strict=True) if there}
    wanted = names.proposer.block(places >= 0)
    others = names.proposer.block(np.array([label in seen for label in index.labels]))
    scores = np.full((len(task.texts), labels), -np.inf)
    for row, text in enumerate(task.texts):
        words, where = words_of(text)
        read = names.proposer.read(words, where, spoken_words(names.phrases, text, where))
        candidates = names.proposer.candidates(read, wanted, others)
        scores[row, places[candidates.labels]] = names.trees.log_odds(candidates.counts)
    return scores


def rows_of(task: Task, method: str, seed: int, names: OpenLabels) -> list[dict[str, Any]]:
    """Rows of the page by a model: among all labels, and asked for used labels alone."""
    said: dict[tuple[str, str], Metrics] = {}
    if task.used < len(task.labels):
        for among, metrics in evaluated(task, scores_of(names, task, len(task.labels))).items():
            said[among, method] = metrics
    said["used", method + ALONE] = zero_shot_metrics(scores_of(names, task, task.used), task.truth[:, : task.used])
    of_task, labels = {"data": task.name, "split": task.split}, {"used": task.used, "named": len(task.labels)}
    return [
        {**of_task, "among": among, "labels": labels[among], "method": each, "seeds": [seed], "metrics": metrics}
        for (among, each), metrics in said.items()
    ]


def measure(runs: list[Planned], folder: Path, work: Path) -> None:
    """Add rows of the models that read names to the page of unseen labels."""
    rows = []
    for planned in runs:
        run = finished(place_of(planned, folder, work))
        if run is None or planned.config.label_set != "named":
            continue
        name = Path(planned.config.training_file or "").parent.as_posix().removeprefix("data/")
        for task, split, seen in TASKS:
            if task == name and split == "test":  # else a data set that the page does not have
                names = Predictor.load(run, device="cpu").open_labels
                assert names is not None
                of_test = read_task(Path("data"), name, split, seen)
                rows += rows_of(of_test, f"{planned.name}, trained", planned.seed, names)
    if not rows:
        return
    keep(rows)
    write_text(PAGE, page(read_json(RESULTS, list, what="results", fix="make them again")))
