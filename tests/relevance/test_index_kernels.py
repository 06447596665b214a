from __future__ import annotations

import numpy as np

from plant_plugin.relevance.index_kernels import count_above_0, keep_largest, keep_of_terms


def test_the_largest_by_absolute_value_stay_and_of_equal_ones_the_first() -> None:
    terms, weights = np.arange(5, dtype=np.int32), np.array([1, -3, 2, 1, 1], np.float32)
    out_terms, out_weights = np.empty(4, np.int32), np.empty(4, np.float32)
    assert keep_largest(terms, weights, out_terms, out_weights) == 4
    assert out_terms.tolist() == [0, 1, 2, 3]
    assert out_weights.tolist() == [1, -3, 2, 1]
    assert keep_largest(terms[:2], weights[:2], out_terms, out_weights) == 2


def test_entries_above_0_are_counted_by_column() -> None:
    columns, values = np.array([0, 2, 2, 1], np.int32), np.array([1, 2, 3, -1], np.float32)
    assert count_above_0(columns, values, 4).tolist() == [1, 0, 2, 0]


def test_each_term_keeps_its_largest_weights() -> None:
    """Term 0 has weights 1, 5, 3 and 4 of the labels 0 to 3 and room for two; term 1 has one of label 2."""
    label_offsets = np.array([0, 1, 2, 4, 5])
    terms, weights = np.array([0, 0, 0, 1, 0], np.int32), np.array([1, 5, 3, 2, 4], np.float32)
    labels, heap = np.empty(3, np.int32), np.empty(3, np.float32)
    keep_of_terms(label_offsets, terms, weights, np.array([0, 2, 3]), labels, heap)
    assert sorted(zip(labels[:2].tolist(), heap[:2].tolist(), strict=True)) == [(1, 5.0), (3, 4.0)]
    assert (labels[2], heap[2]) == (2, 2.0)
