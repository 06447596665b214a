"""LibMultiLabel's models for the evaluation: logits, sparse truth, counts and hashes of what was read."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from torch.utils.data import DataLoader

from plant_plugin.data.documents import Corpus, label_hash

# logits (B, L) and truth (B, L), batch by batch
Scores = Iterator[tuple[npt.NDArray[np.float32] | sp.csr_matrix, sp.csr_matrix]]
Batch = TypeVar("Batch")


def logits_of(probabilities: npt.NDArray[np.floating]) -> npt.NDArray[np.float32]:
    """Return the logits of probabilities in [0, 1]; 0 becomes -inf and 1 the largest finite float32."""
    exact = probabilities.astype(np.float64)
    with np.errstate(divide="ignore"):
        logits = np.log(exact) - np.log1p(-exact)
    return np.minimum(logits, np.finfo(np.float32).max).astype(np.float32)


def listed_logits_of(probabilities: npt.NDArray[np.floating]) -> sp.csr_matrix:
    """Return logits as :func:`logits_of`, sparse (B, L): a label of probability 0 is not scored."""
    listed = sp.csr_matrix(probabilities)
    return sp.csr_matrix((logits_of(listed.data), listed.indices, listed.indptr), shape=listed.shape)


def sparse_truth(zeros_and_ones: npt.NDArray[np.generic] | sp.csr_matrix) -> sp.csr_matrix:
    """Return a 0/1 matrix (B, L) as the sparse matrix that the metrics take."""
    return sp.csr_matrix(zeros_and_ones, dtype=np.float32)


def limited(loader: DataLoader[Batch], settings: Mapping[str, float], split: str) -> Iterator[Batch]:
    """Yield the batches that ``limit_val_batches`` or ``limit_test_batches`` leaves: a share, or a number above one."""
    limit = settings[f"limit_{split}_batches"]
    return itertools.islice(loader, int(limit) if limit > 1 else max(1, int(len(loader) * limit)))


def sizes_and_hashes(corpus: Corpus, labels: list[str]) -> tuple[dict[str, int], dict[str, str]]:
    """Count what reading dropped under the model's label set, and hash labels and splits."""
    corpus = corpus.with_labels(labels)
    hashes = {split.name: split.hash() for split in corpus.splits if len(split)}
    return dict(corpus.counts), {"labels": label_hash(corpus.label_names), **hashes}
