"""The labels of each document that the network scores, where it does not score all: those that planted scores propose.

They are proposed with the weights of adjustment, names and phrases that are best for the scores alone, before the
network trains, and these weights stay. What was fitted to a training document knows its labels: these stand in its
shortlist for certain, in training only. The order of all others is what it would be had the document been left out: of
a ridge regression with dual coefficients α its score of a wrong label is −λ·α, and left out −α / (G⁻¹)ᵢᵢ, both
divided by what all labels of the document share.

Source: Rifkin & Lippert 2007, "Notes on Regularized Least Squares" (leave-one-out values in closed form).

Shapes: N documents, L labels, S of a shortlist.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from plant_plugin.config import Config
from plant_plugin.config.options import AUTO, PLANTED_SCORES, SHORTLIST_SIZES
from plant_plugin.relevance.planted_scores import PlantedScores
from plant_plugin.report.run import Run
from plant_plugin.training.devices import from_first
from plant_plugin.training.prepare import Prepared
from plant_plugin.training.weights import ScoreBatch, blocks, plant_weight

ENOUGH = 0.01  # recall that ``auto`` gives away, of that of the largest size


def add_shortlists(prepared: Prepared, config: Config, run: Run) -> Config:
    """Give every split its shortlist, if one is asked for.

    Returns:
        The configuration with what was chosen: the weights of the scores that propose, which are not to change.
    """
    size = config.shortlist.size
    if size is None or config.strategy == PLANTED_SCORES:  # without a network nothing is saved
        return config

    def make() -> tuple[dict[str, npt.NDArray[np.int32]], dict[str, npt.NDArray[np.float32]], Config]:
        planted, options = prepared.planted_scores, config.planted_scores
        assert planted is not None
        with run.phase("shortlist"):
            alone = replace(config, strategy=PLANTED_SCORES, planted_scores=replace(options, weight=None))
            plant_weight(prepared, alone, run, lambda: _nothing(prepared))
            planted.weight = 0.0  # γ is chosen behind the network, on passes that are to show its own logits
            chosen = replace(
                options,
                adjustment=planted.adjustment,
                name_weight=planted.name_weight,
                linear_weight=planted.linear_weight,
                sentence_weight=planted.sentence_weight,
            )
            propose(prepared, _size(prepared, planted, size, run))
        found = replace(config, planted_scores=chosen, identity=config.hash())
        return prepared.shortlists, prepared.shortlist_scores, found

    prepared.shortlists, prepared.shortlist_scores, found = from_first(make)
    return found


def propose(prepared: Prepared, size: int | None) -> None:
    """Give every split its shortlist of ``size`` labels a document; None: all labels are scored.

    Where labels are looked up, validation and test keep the planted scores of theirs: no others are scored there.
    """
    planted = prepared.planted_scores
    if size is None or planted is None:
        return
    for split in prepared.splits:
        if split.name in prepared.arrays:
            top = planted.top(split.texts, size)
            shape = len(split.texts), -1
            prepared.shortlists[split.name] = top.indices.reshape(shape)
            if planted.looked_up and split is not prepared.training:
                prepared.shortlist_scores[split.name] = top.data.reshape(shape)


def _nothing(prepared: Prepared) -> Iterator[ScoreBatch]:
    """Validation documents with logits of 0, as they are without a network."""
    truth = prepared.labels["val"]
    documents = np.arange(truth.shape[0])
    for rows in blocks(*truth.shape):
        yield np.zeros(truth[rows].shape, np.float32), truth[rows], documents[rows]


def _size(prepared: Prepared, planted: PlantedScores, asked: int | str, run: Run) -> int:
    """S: the one asked for, or the least of ``SHORTLIST_SIZES`` with enough recall; each one's is said."""
    val, most = prepared.corpus.val, prepared.num_labels
    size = None if asked == AUTO else min(int(asked), most)
    if val is None or not len(val):
        assert size is not None  # rules.py
        return size
    sizes = sorted({min(each, most) for each in (*SHORTLIST_SIZES, size) if each is not None})
    recall = recall_by_size(planted.top(val.texts, sizes[-1]), prepared.labels["val"], sizes)
    if size is None:
        size = next(each for each in sizes if recall[each] >= recall[sizes[-1]] - ENOUGH)
    told = ", ".join(f"{value:.4f} at {each}" for each, value in recall.items())
    run.log(f"shortlist: {size} labels a document; recall on validation documents: {told}")
    return size


def recall_by_size(top: sp.csr_array, truth: sp.csr_array, sizes: list[int]) -> dict[int, float]:
    """Share of all true labels (N, L) that are among a document's highest so many; of ``top`` see ``PlantedScores``."""
    rows = top.shape[0]
    order = np.argsort(-top.data.reshape(rows, -1), axis=1, kind="stable")
    labels = np.take_along_axis(top.indices.reshape(rows, -1), order, axis=1)
    hits = np.asarray(truth[np.arange(rows)[:, None], labels].todense()).astype(bool)  # type: ignore[attr-defined]
    return {size: float(hits[:, :size].sum()) / max(1, truth.nnz) for size in sizes}
