"""What is found of labels of few and of many training documents, and how near wrong ones are; for a page's table.

Shapes: N documents, L labels, K ranks.
"""

from __future__ import annotations

import math

import numpy as np
import scipy.sparse as sp

from plant_plugin.evaluation.per_document import PerDocument

BINS = {"unseen": (-1, 0), "1": (1, 1), "2–5": (2, 5), "6–20": (6, 20), "more": (21, math.inf)}  # training documents
RANK = 15  # where recall is measured; every result has so many labels of a document
WRONG = 5  # ranks, of which wrong labels are looked at
CATEGORY = 3  # characters of an ICD-10 code


def recall_by_frequency(documents: PerDocument) -> dict[str, tuple[float, int]]:
    """Of the true labels (mentions) of each bin, the share among the best ``RANK`` of their document, and how many."""
    counts = documents.train_counts
    assert counts is not None
    hit = found(documents.top[:, :RANK], documents.truth)
    columns = documents.truth.tocsr().indices
    rows = {name: (counts[columns] >= low) & (counts[columns] <= high) for name, (low, high) in BINS.items()}
    return {name: (float(hit[inside].mean()), int(inside.sum())) for name, inside in rows.items() if inside.any()}


def found(top: np.ndarray, truth: sp.csr_matrix) -> np.ndarray:
    """Whether each stored true pair, in the order of ``truth.indices``, is among the labels ``top`` (N, K)."""
    documents, labels = truth.shape
    rows = np.repeat(np.arange(documents), top.shape[1])
    listed = sp.csr_matrix((np.ones(top.size, np.int8), (rows, top.ravel())), shape=(documents, labels + 1))[:, :labels]
    pairs = np.repeat(np.arange(documents), np.diff(truth.indptr)), truth.indices
    return np.asarray(listed[pairs]).ravel() > 0


def near_misses(documents: PerDocument) -> tuple[float, float]:
    """Of the best ``WRONG`` labels of each document, the share that is wrong, and of these that of a true category."""
    category = np.array([*(label[:CATEGORY] for label in documents.labels), ""])
    wrong = near = ranked = 0
    for row, top in enumerate(documents.top[:, :WRONG]):
        true = documents.truth.indices[documents.truth.indptr[row] : documents.truth.indptr[row + 1]]
        listed = top[top < len(documents.labels)]
        misses = listed[~np.isin(listed, true)]
        ranked, wrong = ranked + len(listed), wrong + len(misses)
        near += int(np.isin(category[misses], category[true]).sum())
    return wrong / max(1, ranked), near / max(1, wrong)
