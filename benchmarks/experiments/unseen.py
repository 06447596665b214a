"""How many labels that training never shows are found by a model that reads names; what `open_labels` measures.

The same protocol and the same page as of programs of others: `name_baselines.py`, `../zero_shot.py`. A row is the mean
over the seeds whose models are still in the work folder.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import numpy as np
from definitions import Planned
from name_baselines import TASKS
from run import finished, place_of
from zero_shot import PAGE, RESULTS, Metrics, Scores, Task, evaluated, keep, page, read_task

from plant_plugin.files import read_json, write_text
from plant_plugin.model.predictor import Predictor


def scores_of(predictor: Predictor, task: Task) -> Scores:
    """Log odds by names of a task's unseen labels, (N, U); -inf where a label is not proposed."""
    names = predictor.open_labels
    assert names is not None
    column_of = {label: column for column, label in enumerate(task.labels)}
    places = np.array([column_of.get(label, -1) for label in predictor.labels])
    scores = np.full((len(task.texts), len(task.labels)), -np.inf)
    for row, text in enumerate(task.texts):
        proposed = names.propose(text)
        unseen = names.by_name[proposed.columns] & (places[proposed.columns] >= 0)
        scores[row, places[proposed.columns[unseen]]] = proposed.log_odds[unseen]
    return scores


def measure(runs: list[Planned], folder: Path, work: Path) -> None:
    """Add rows of the models that read names to the page of unseen labels."""
    found: dict[tuple[str, str, str], list[Metrics]] = defaultdict(list)
    tasks: dict[str, Task] = {}
    for planned in runs:
        run = finished(place_of(planned, folder, work))
        if run is None or planned.config.label_set != "named":
            continue
        name = Path(planned.config.training_file or "").parent.as_posix().removeprefix("data/")
        tested = [(split, seen) for task, split, seen in TASKS if task == name and split == "test"]
        if not tested:  # a data set that the page does not have
            continue
        split, seen = tested[0]
        task = tasks.setdefault(name, read_task(Path("data"), name, split, seen))
        scores = scores_of(Predictor.load(run, device="cpu"), task)
        for among, metrics in evaluated(task, scores).items():
            found[name, among, planned.name].append(metrics)
    rows = []
    for (name, among, method), seeds in found.items():
        labels = tasks[name].used if among == "used" else len(tasks[name].labels)
        metrics = {metric: float(np.mean([each[metric] for each in seeds])) for metric in seeds[0]}
        of_task = {"data": name, "split": tasks[name].split, "among": among, "labels": labels}
        rows.append({**of_task, "method": f"{method}, trained, {len(seeds)} seeds", "metrics": metrics})
    if not rows:
        return
    keep(rows)
    write_text(PAGE, page(read_json(RESULTS, list, what="results", fix="make them again")))
