from __future__ import annotations

import itertools

import numpy as np

from plant_plugin.relevance.names.tree_kernels import sum_of_trees


def test_trees_are_walked_as_their_nodes_say() -> None:
    # two trees: x0 <= 0 ? 1 : (x1 <= 2 ? 10 : 100); and a leaf of 1000
    features, thresholds = np.array([0, 0, 1, 0, 0, 0], np.int32), np.array([0, 0, 2, 0, 0, 0], np.float32)
    left, right = np.array([1, -1, 3, -1, -1, -1], np.int32), np.array([2, -1, 4, -1, -1, -1], np.int32)
    leaves, roots = np.array([0, 1, 0, 10, 100, 1000], np.float32), np.array([0, 5], np.int32)
    rows = np.array(list(itertools.product((-1, 1), (1, 3))), np.float32)
    sums = sum_of_trees(rows, features, thresholds, left, right, leaves, roots)
    assert sums.tolist() == [1001, 1001, 1010, 1100]
