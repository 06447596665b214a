"""Log odds of candidates: boosted trees over a few counts, as plain arrays that any program can read.

Shapes: N candidates, F counts, T nodes of all trees.

Source: Friedman 2001, "Greedy Function Approximation"; fitted by scikit-learn.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from plant_plugin.evaluation.arrays import NUMBERS, WHOLE, ArrayFile
from plant_plugin.relevance.mutual_information import Arrays, Floats, Small

TREES, DEPTH, RATE, LEAF, SHARE, COLUMNS = 200, 4, 0.05, 20, 0.5, 0.3
MOST_WRONG = 30_000  # wrong candidates that are read; the log odds are those of all


@dataclass(eq=False, repr=False)
class Trees:
    """The nodes of all trees, each (T,), where each tree begins, and the log odds before any tree."""

    features: Small
    thresholds: Floats
    left: Small  # -1: a leaf
    right: Small
    leaves: Floats
    roots: Small
    prior: float

    @classmethod
    def fit(cls, counts: Floats, truth: npt.NDArray[np.bool_], seed: int = 0) -> Trees:
        """Learn the log odds that a candidate (N, F) is true (N,)."""
        from sklearn.ensemble import GradientBoostingClassifier  # slow to import

        true, wrong = np.flatnonzero(truth), np.flatnonzero(~truth)
        if not len(true) or not len(wrong):
            empty = np.zeros(1, np.int32)
            nothing = np.zeros(1, np.float32)
            return cls(empty, nothing, empty - 1, empty - 1, nothing, empty, -10.0)
        read = np.random.default_rng(seed).permutation(wrong)[:MOST_WRONG]
        rows = np.concatenate([true, read])
        options = {"n_estimators": TREES, "max_depth": DEPTH, "learning_rate": RATE, "subsample": SHARE}
        model = GradientBoostingClassifier(**options, min_samples_leaf=LEAF, max_features=COLUMNS, random_state=seed)
        model.fit(counts[rows], truth[rows])
        trees = [estimator.tree_ for estimator in model.estimators_[:, 0]]
        roots = np.cumsum([0, *(tree.node_count for tree in trees)])
        rooted = list(zip(trees, roots.tolist(), strict=False))  # no tree begins where the last ends
        left = [np.where(tree.children_left < 0, -1, tree.children_left + root) for tree, root in rooted]
        right = [np.where(tree.children_right < 0, -1, tree.children_right + root) for tree, root in rooted]
        return cls(
            np.concatenate([np.maximum(tree.feature, 0) for tree in trees]).astype(np.int32),
            np.concatenate([tree.threshold for tree in trees]).astype(np.float32),
            np.concatenate(left).astype(np.int32),
            np.concatenate(right).astype(np.int32),
            np.concatenate([RATE * tree.value[:, 0, 0] for tree in trees]).astype(np.float32),
            roots[:-1].astype(np.int32),
            float(np.log(len(true) / len(wrong))),
        )

    def log_odds(self, counts: Floats) -> Floats:
        """Return the log odds of candidates, (N,)."""
        from plant_plugin.relevance.names.compiled import sum_of_trees

        trees = (self.features, self.thresholds, self.left, self.right, self.leaves, self.roots)
        odds: Floats = (sum_of_trees(np.ascontiguousarray(counts), *trees) + self.prior).astype(np.float32)
        return odds

    def arrays(self, prefix: str) -> Arrays:
        """Return the arrays for :meth:`from_arrays`."""
        return {prefix + field.name: np.asarray(getattr(self, field.name)) for field in fields(self)}

    @classmethod
    def from_arrays(cls, arrays: ArrayFile, counts: int) -> Trees:
        """Read the arrays that :meth:`arrays` returned; each node leads to later ones, so that every walk ends."""
        left = arrays.array("left", WHOLE, (None,), low=-1)
        nodes = len(left)
        right = arrays.array("right", WHOLE, (nodes,), low=-1, high=nodes - 1)
        inner = np.flatnonzero(left >= 0)
        if (left >= nodes).any() or (left[inner] <= inner).any() or (right[inner] <= inner).any():
            arrays.wrong("left", "leads to no later node")
        return cls(
            arrays.array("features", WHOLE, (nodes,), low=0, high=counts - 1),
            arrays.array("thresholds", NUMBERS, (nodes,)),
            left,
            right,
            arrays.array("leaves", NUMBERS, (nodes,)),
            arrays.array("roots", WHOLE, (None,), low=0, high=nodes - 1),
            arrays.number("prior"),
        )
