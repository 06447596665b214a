"""Area under the ROC curve, per label and over all pairs, from scores that lie on disk: exact, ties count half.

The area is the share of comparisons of a true with a false document that the true one wins.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from plant_plugin.evaluation.ranking import Integers, Scores
from plant_plugin.evaluation.store import ScoreStore

Floats = npt.NDArray[np.float64]


def roc_areas(store: ScoreStore) -> tuple[Floats, float]:
    """Compute the areas of the scores of a split, in which labels that are not scored tie.

    Returns:
        Area of each label (L,), comparing documents; area over all pairs of document and label. NaN without both
        classes.
    """
    num_documents, areas, area = store.num_documents, np.full(store.num_labels, np.nan), np.nan
    true_scores = store.true_scores()
    distinct, copies = np.unique(true_scores, return_counts=True)
    below_true = 0.0  # over true pairs: all pairs that score lower, and half of the equal ones
    for first_label, block, true in store.blocks():
        for place, documents in true:
            if len(documents) < num_documents:
                areas[first_label + place] = _label_area(block[place], documents)
        below_true += float(np.dot(copies, _number_below(np.sort(block, axis=None), distinct)))
    num_true = len(true_scores)
    num_false = num_documents * store.num_labels - num_true
    if num_true and num_false:
        # Among themselves the true pairs account for exactly half of all their comparisons.
        area = (below_true - num_true**2 / 2) / (num_true * num_false)
    return areas, area


def _label_area(scores: Scores, true_documents: Integers) -> float:
    """Area of a label with both classes, from the scores of all documents (N,)."""
    true_scores, false_scores = np.sort(scores[true_documents]), np.delete(scores, true_documents)
    comparisons = len(true_scores) * len(false_scores)
    return float((comparisons - _number_below(true_scores, false_scores).sum()) / comparisons)


def _number_below(ordered: Scores, limits: Scores) -> Floats:
    """Count how many of ``ordered`` (ascending) are below each limit, plus half of those that equal it."""
    below, up_to = (np.searchsorted(ordered, limits, side=side) for side in ("left", "right"))
    return np.asarray((below + up_to) / 2.0)
