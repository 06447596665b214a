"""Kernel ridge regression in closed form with sparse features: the weights of the planted scores.

Shapes: N training documents, L labels, V terms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import torch

from plant_plugin.config.options import EXACT_DOCUMENTS, EXACT_OPERATIONS, MOST_EXACT, PlantedScoresOptions
from plant_plugin.errors import ConfigError
from plant_plugin.relevance import cholesky

# A term in a larger share of the documents than this is a dense column: a sparse product takes some 3 ns for each pair
# of documents that both hold the term, a dense one 0.02 ns for each pair of documents.
FREQUENT = 0.05
COLUMNS = 2_048  # dense columns (N, columns) held at once
ROWS = 1_000  # rows of the kernel matrix made at once: the sparse product holds an index beside each value
GIB = 1024**3
LABELS = 128  # labels whose dense weights (labels, V) are held at once
LEAST = 300  # weights of a label that are kept however small (benchmarks/TRIALS.md)


@dataclass(frozen=True)
class RidgeOptions:
    """The choices of a ridge regression of labels on tf-idf; chosen once for all data (benchmarks/TRIALS.md).

    Attributes:
        model: ``ridge`` (all labels together, exactly), ``label_ridge`` (label by label) or ``auto``.
        penalty: λ, above 0; tf-idf rows have norm 1.
        top: Weights kept per label.
        kept: Share of the sum of their squares that is enough, after ``LEAST``.
        min_documents: Training documents that have to hold a term.
        word_letters: Letters of each word that texts are read by too; None: whole words only.
        lead: Words that are the beginning of a text, which counts more; 0: none.
        lead_weight: Tf-idf of the beginning, beside that of the whole text.
    """

    model: str = "ridge"
    penalty: float = 0.2
    top: int = 2000
    kept: float = 0.98
    min_documents: int = 2
    word_letters: int | None = None
    lead: int = 0
    lead_weight: float = 0.5

    @classmethod
    def of(cls, options: PlantedScoresOptions) -> RidgeOptions:
        """Take over what a configuration chooses."""
        return cls(options.model, top=options.top, word_letters=options.word_letters, lead=options.lead)

    def model_for(self, documents: int, labels: int) -> str:
        """Return the model that is fitted to so many documents and labels: for ``auto`` the exact one if affordable."""
        if self.model != "auto":
            return self.model
        operations = documents**2 * (documents / 3 + 2 * labels)  # Cholesky, and two triangles for each label
        return "ridge" if documents <= EXACT_DOCUMENTS and operations <= EXACT_OPERATIONS else "label_ridge"


def solve_ridge(features: sp.csr_array, targets: sp.csr_array, options: RidgeOptions) -> sp.csr_array:
    """W = αᵀ·X with α = (X·Xᵀ + λ·I)⁻¹·Y, of each label the weights that are largest by absolute value.

    X are the features (N, V), Y the targets (N, L), both CSR float32, as is what comes back, (L, V). Time grows with
    the cube of N and with N²·L, memory with N².

    Raises:
        ConfigError: The kernel matrix X·Xᵀ does not fit into free memory, or has more than ``MOST_EXACT`` rows, or λ is
            too little.

    Source: Saunders et al. 1998 (kernel ridge regression).
    """
    _check_size(features.shape[0])
    from plant_plugin.relevance.counts import product_turned

    by_column = features.tocsc()
    frequent = np.diff(by_column.indptr) > FREQUENT * features.shape[0]
    order = np.concatenate((np.flatnonzero(frequent), np.flatnonzero(~frequent)))  # of the terms: dense ones first
    dense, rare = by_column[:, order[: frequent.sum()]], sp.csr_array(by_column[:, order[frequent.sum() :]])
    blocks = [dense[:, start : start + COLUMNS] for start in range(0, dense.shape[1], COLUMNS)]
    kernel = _kernel(blocks, rare)
    kernel.diagonal().add_(options.penalty)
    try:
        factors = cholesky.factor(kernel)
    except np.linalg.LinAlgError as error:  # documents of the same words, told apart by λ alone
        what = f"{options.penalty:g} is too little for 32 bits"
        raise ConfigError(what, where="the ridge regression's penalty", fix="choose a larger one, e.g. 0.2") from error
    rare_by_term, by_label = sp.csr_array(rare.T), targets.tocsc()
    # One for all blocks of labels: fresh memory costs more than products.
    weights = torch.empty(min(LABELS, targets.shape[1]), len(order))
    rows = []
    for start in range(0, targets.shape[1], LABELS):
        part = cholesky.solve(kernel, factors, by_label[:, start : start + LABELS].toarray())
        solved = weights[: part.shape[1]]
        for column, block in zip(range(0, dense.shape[1], COLUMNS), blocks, strict=True):
            solved[:, column : column + block.shape[1]] = part.T @ torch.from_numpy(block.toarray())
        ours = solved.numpy()[:, dense.shape[1] :]
        product_turned(rare_by_term.indptr, rare_by_term.indices, rare_by_term.data, part.numpy(), ours)
        rows.append(_largest(solved, order, options))
    return sp.csr_array(sp.vstack(rows, format="csr"))


def _check_size(documents: int) -> None:
    """Refuse a kernel matrix of so many documents that does not fit: the system would kill the run, without a word."""
    import psutil  # here, as it is for :mod:`.cholesky`: predicting solves nothing

    # The squares on the diagonal are held once more where there are several.
    needed, free = (
        4 * documents * (documents + cholesky.ROWS * (documents > cholesky.ROWS)),
        psutil.virtual_memory().available,
    )
    what, where = f"{documents:,} documents at once", "planted_scores.model"
    fix = "say label_ridge, which solves label by label, or auto, which takes that for so many"
    if needed > free:
        what += f" need {needed / GIB:.1f} GiB of memory, {free / GIB:.1f} are free"
        raise ConfigError(what, where=where, fix=fix)
    if documents > MOST_EXACT:
        raise ConfigError(f"{what} are more than the {MOST_EXACT:,} that can be solved", where=where, fix=fix)


def _kernel(blocks: Sequence[sp.csc_array], rare: sp.csr_array) -> torch.Tensor:
    """The upper triangle of X·Xᵀ, (N, N), of columns to be made dense and of those that stay sparse."""
    count = rare.shape[0]
    kernel = torch.zeros(count, count)
    starts = range(0, count, ROWS)
    for block in blocks:
        columns = torch.from_numpy(block.toarray())
        for start in starts:
            kernel[start : start + ROWS, start:].addmm_(columns[start : start + ROWS], columns[start:].T)
    for start in starts:
        product = rare[start : start + ROWS] @ rare[start:].T
        kernel[start : start + ROWS, start:] += torch.from_numpy(product.toarray())
    return kernel


def _largest(weights: torch.Tensor, order: npt.NDArray[np.intp], options: RidgeOptions) -> sp.csr_array:
    """The entries of each row (rows, V) that are largest by absolute value, as many as options say.

    ``order`` is each column's term.
    """
    sizes, columns = weights.abs().topk(min(options.top, weights.shape[1]))
    squares = sizes.square()
    needless = squares.cumsum(1) - squares >= options.kept * squares.sum(1, keepdim=True)
    needless[:, :LEAST] = False
    # int64 would stay so, in memory and files
    offsets = np.arange(0, columns.numel() + 1, columns.shape[1], dtype=np.int32)
    largest = weights.gather(1, columns).masked_fill_(needless, 0)
    parts = (largest.numpy().ravel(), order[columns.numpy().ravel()].astype(np.int32), offsets)
    chosen = sp.csr_array(parts, shape=(weights.shape[0], weights.shape[1]))
    chosen.eliminate_zeros()
    chosen.sort_indices()
    return chosen
