"""Propose by planted scores the labels of each document that the network scores, where it does not score all.

They are proposed with the weights of adjustment, names and phrases that are best for these scores, before the network
trains, and these weights stay. What was fitted to a training document knows its labels: its shortlist holds these for
certain, in training only. The order of all others is as if the document had been left out: of a ridge regression with
dual coefficients α its score of a wrong label is −λ·α, and left out −α / (G⁻¹)ᵢᵢ, both divided by what all labels of
the document share.

Source: Rifkin & Lippert 2007, "Notes on Regularized Least Squares" (leave-one-out values in closed form).

Shapes: N documents, L labels, S of a shortlist.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from plant_plugin.config.options import AUTO, PLANTED_SCORES, SHORTLIST_SIZES
from plant_plugin.config.sections import Settings
from plant_plugin.relevance.planted_scores import PlantedScores
from plant_plugin.report.run import Run
from plant_plugin.training.devices import from_first
from plant_plugin.training.inputs import Encoded, Inputs, Shortlists
from plant_plugin.training.weights import weigh_alone

ENOUGH = 0.01  # recall that ``auto`` gives away, of that of the largest size


def propose(
    planted: PlantedScores | None, documents: Encoded, settings: Settings, run: Run
) -> tuple[PlantedScores | None, Shortlists]:
    """Return planted scores with the weights that propose best, and the shortlists, if any are wanted."""
    size = settings.shortlist.size
    if size is None or settings.strategy == PLANTED_SCORES:  # without a network nothing is saved
        return planted, Shortlists()
    with run.phase("shortlist"):
        options = replace(settings.planted_scores, weight=None)
        without_network = replace(settings, planted_scores=options)
        planted, _ = weigh_alone(planted, Inputs(documents), without_network, run)

        def listed() -> Shortlists:
            assert planted is not None  # rules.py
            return shortlists_of(planted, documents, _size(documents, planted, size, run))

        return planted, from_first(listed)


def shortlists_of(planted: PlantedScores, documents: Encoded, size: int) -> Shortlists:
    """Return the ``size`` labels of each document of every split that planted scores propose.

    Where labels are looked up, validation and test keep the planted scores of theirs: no others are scored there.
    """
    labels, scores = {}, {}
    for split in documents.splits:
        if split.name in documents.arrays:
            top = planted.top(split.texts, size)
            shape = len(split.texts), -1
            labels[split.name] = top.indices.reshape(shape)
            if planted.looked_up and split is not documents.training:
                scores[split.name] = top.data.reshape(shape)
    return Shortlists(labels, scores)


def _size(documents: Encoded, planted: PlantedScores, configured: int | str, run: Run) -> int:
    """Return S: the configured one, or the least of ``SHORTLIST_SIZES`` with enough recall; print each's recall."""
    val, most = documents.corpus.val, documents.num_labels
    size = None if configured == AUTO else min(int(configured), most)
    if val is None or not len(val):
        assert size is not None  # rules.py
        return size
    sizes = sorted({min(each, most) for each in (*SHORTLIST_SIZES, size) if each is not None})
    recall = recall_by_size(planted.top(val.texts, sizes[-1]), documents.labels["val"], sizes)
    if size is None:
        size = next(each for each in sizes if recall[each] >= recall[sizes[-1]] - ENOUGH)
    recalls = ", ".join(f"{value:.4f} at {each}" for each, value in recall.items())
    run.log(f"shortlist: {size} labels a document; recall on validation documents: {recalls}")
    return size


def recall_by_size(top: sp.csr_array, truth: sp.csr_array, sizes: list[int]) -> dict[int, float]:
    """Return the share of true labels (N, L) among a document's highest so many of :meth:`PlantedScores.top`."""
    rows = top.shape[0]
    order = np.argsort(-top.data.reshape(rows, -1), axis=1, kind="stable")
    labels = np.take_along_axis(top.indices.reshape(rows, -1), order, axis=1)
    hits = np.asarray(truth[np.arange(rows)[:, None], labels].todense()).astype(bool)  # type: ignore[attr-defined]
    return {size: float(hits[:, :size].sum()) / max(1, truth.nnz) for size in sizes}
