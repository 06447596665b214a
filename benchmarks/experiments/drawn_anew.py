"""Is a promise off, or are the documents few? What `promises` measures of models that were trained without validation.

Validation and test documents are put together and drawn apart anew, as many of each as there are; thresholds are chosen
on the ones and measured on the others. Nothing is chosen by it.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from definitions import Planned
from kept_results import Runs, change_runs
from run import finished, place_of

from plant_plugin.data.documents import load_corpus
from plant_plugin.evaluation.promises import PROMISE, Lists
from plant_plugin.model.predictor import Predictor

DRAWS, SEED, NEAR = 200, 1, 0.02
NONE = 1e-12  # probability: all that the model scores


def measure(runs: list[Planned], folder: Path, work: Path) -> None:
    """Add means and deviations over draws, and the share of draws within two points, to the results."""
    for planned in runs:
        run = finished(place_of(planned, folder, work))
        if run is not None and planned.variant == "first_training":
            change_runs(folder, partial(_noted, planned, _drawn_anew(planned, run)))


def _noted(planned: Planned, found: dict[str, dict[str, float]], kept: Runs) -> None:
    kept[planned.name, planned.seed].result["drawn_anew"] = found


def _drawn_anew(planned: Planned, run: Path) -> dict[str, dict[str, float]]:
    corpus, predictor = load_corpus(planned.config), Predictor.load(run, device="cpu")
    place = {label: column for column, label in enumerate(predictor.labels)}
    parts = [next(split for split in corpus.splits if split.name == name) for name in ("val", "test")]
    texts = [text for part in parts for text in part.texts]
    true = [{place[label] for label in labels if label in place} for part in parts for labels in part.labels]
    truth, scores = np.zeros((2, len(texts), len(place)), np.float32)
    scores -= np.inf
    for row, found in enumerate(predictor.predict(texts, threshold=NONE)):
        truth[row, list(true[row])] = 1
        scores[row, [place[label.label] for label in found.labels]] = [label.logit for label in found.labels]
    seen = {label for labels in corpus.train.labels for label in labels}
    known = np.array([label in seen for label in predictor.labels])
    generator, reached = np.random.default_rng(SEED), dict[str, list[float]]()
    for _ in range(DRAWS):
        order = generator.permutation(len(texts))
        chosen_on, measured_on = Lists(known), Lists(known)
        for lists, rows in ((chosen_on, order[: len(parts[0])]), (measured_on, order[len(parts[0]) :])):
            lists.update(scores[rows], sp.csr_matrix(truth[rows]))
        thresholds, _ = chosen_on.thresholds()
        promised = {name: value for name, value in thresholds.items() if name.startswith(PROMISE)}
        for name, outcome in measured_on.outcomes(promised).items():
            reached.setdefault(name, []).append(outcome["listed"])
    return {
        name: {
            "mean": float(np.mean(shares)),
            "deviation": float(np.std(shares)),
            "near": float(np.mean(np.abs(np.array(shares) - float(name.split()[1])) <= NEAR)),
        }
        for name, shares in reached.items()
    }
