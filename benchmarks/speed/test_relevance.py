"""Relevance of token types for labels against scikit-learn's mutual information, on as much as that can do.

scikit-learn takes one label at a time and measures each token type in Python. Both give every pair of the case.
Growth is that of made-up corpora of MIMIC-III's shape.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.feature_selection import mutual_info_classif

from plant_plugin.config.options import RelevanceOptions
from plant_plugin.data.token_arrays import TokenArrays
from plant_plugin.relevance.mutual_information import compute_relevance

SLICE = (2_000, 50, 300, 8, 2)
GROWTH = [2_000, 4_000, 8_000]  # documents, 600 distinct tokens, 50,000 types, 8,900 labels, 14 a document


def corpus(documents: int, length: int, types: int, labels: int, per_document: int) -> tuple[TokenArrays, sp.csr_array]:
    """Made-up documents of ``length`` tokens; types and labels by Zipf's law."""
    random = np.random.default_rng(0)

    def zipf(number: int, size: int) -> np.ndarray:
        weights = np.cumsum(1 / (np.arange(number) + 5.0))
        return np.searchsorted(weights / weights[-1], random.random(size)).clip(max=number - 1)

    offsets = np.arange(documents + 1, dtype=np.int64) * length
    columns, rows = zipf(labels, documents * per_document), np.repeat(np.arange(documents), per_document)
    truth = sp.csr_array(sp.coo_array((np.ones(len(rows), np.float32), (rows, columns)), shape=(documents, labels)))
    truth.sum_duplicates()
    return TokenArrays(zipf(types, documents * length).astype(np.int32), offsets), truth


@pytest.mark.parametrize("way", ["scikit-learn", "plant_plugin"])
def test_every_pair(measure: Callable[..., Any], way: str) -> None:
    documents, length, types, labels, _ = SLICE
    arrays, truth = corpus(*SLICE)
    present = sp.csr_array((np.ones(len(arrays.ids)), arrays.ids, arrays.offsets), shape=(documents, types))
    present.sum_duplicates()
    present.data[:] = 1
    compute_relevance(arrays, truth[:, :1], types, (0, 1), RelevanceOptions())  # compiled once per machine, then cached
    has_label = truth.toarray().T > 0

    def step() -> None:
        if way == "scikit-learn":
            for column in has_label:
                mutual_info_classif(present, column, discrete_features=True)
        else:
            compute_relevance(arrays, truth, types, (0, 1), RelevanceOptions(association="any", top=types))

    shape = f"N={documents:,}, {length} tokens, V={types:,}"
    measure(f"relevance: {shape}, L={labels}", way, step)


@pytest.mark.parametrize("documents", GROWTH)
def test_growth(measure: Callable[..., Any], documents: int) -> None:
    arrays, truth = corpus(documents, 600, 50_000, 8_900, 14)
    compute_relevance(arrays, truth[:, :1], 50_000, (0, 1), RelevanceOptions())

    def step() -> None:
        compute_relevance(arrays, truth, 50_000, (0, 1), RelevanceOptions())

    name = "relevance of all labels: 600 tokens, V=50,000, L=8,900, 14 a document"
    measure(name, "plant_plugin", step, along="N", size=documents)
