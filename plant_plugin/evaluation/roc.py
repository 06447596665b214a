"""Area under the ROC curve, per label and over all pairs, exact, ties half."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from plant_plugin.evaluation.score_store import ScoreStore, positives


def roc_areas(store: ScoreStore) -> tuple[npt.NDArray[np.float64], float]:
    """The probability that a true pair outscores a false one, equal scores counting half.

    Both come from one pass over blocks of labels: a label's sorted scores give the rank sum of its positives; for all
    pairs, the sorted block is looked up at the distinct scores of all positives.

    Args:
        store: Every score of the split; -inf (not scored) ties with other -inf.

    Returns:
        float64 (L,), NaN for labels without both classes, and the area over all pairs, NaN without both classes.
    """
    truth = store.truth()
    areas = np.full(store.num_labels, np.nan)
    positive_scores = [found for start, block in store.blocks() for _, found in positives(truth, block, start)]
    distinct, copies = np.unique(np.concatenate(positive_scores or [np.empty(0, np.float32)]), return_counts=True)
    above_all = 0.0  # over true pairs: all pairs that score lower, and half of the equal ones
    for start, block in store.blocks():
        found = list(positives(truth, block, start))
        block.sort(axis=1)
        for place, own in found:
            if len(own) < store.num_documents:
                areas[start + place] = _area(block[place], own)
        block = np.sort(block, axis=None)
        lower, up_to = (np.searchsorted(block, distinct, side=side) for side in ("left", "right"))
        above_all += float(np.dot(copies, (lower + up_to) / 2.0))
    num_true = int(copies.sum())
    num_false = store.num_documents * store.num_labels - num_true
    if not num_true or not num_false:
        return areas, float("nan")
    # Among themselves the true pairs account for exactly half of all their comparisons.
    return areas, (above_all - num_true**2 / 2) / (num_true * num_false)


def _area(ordered: npt.NDArray[np.float32], own: npt.NDArray[np.float32]) -> float:
    """Area of one label from all its scores in order and those of its positives."""
    lower, up_to = (np.searchsorted(ordered, own, side=side) for side in ("left", "right"))
    num_true, num_false = len(own), len(ordered) - len(own)
    return float((((lower + up_to) / 2.0).sum() - num_true**2 / 2) / (num_true * num_false))
