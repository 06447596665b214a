"""The relevance table (L, V) as a network reads it: the rows of the tokens that a batch holds."""

from __future__ import annotations

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from plant_plugin.kernels.label_attention import PriorLookup
from plant_plugin.kernels.sparse_prior import SparseTable


class PlantedRelevance:
    """Sparse relevance of labels for token types, looked up batch by batch.

    Args:
        matrix: (L, V) relevance in [0, 1], sparse; what :mod:`plant_plugin.relevance` computes.
    """

    def __init__(self, matrix: sparse.csr_array) -> None:
        self.shape: tuple[int, int] = matrix.shape
        self._by_token = sparse.csr_matrix(matrix.T, dtype=np.float32)  # (V, L): a batch reads rows of tokens

    def lookup(self, text: Tensor, dtype: torch.dtype = torch.float32) -> PriorLookup:
        """Relevance of every label for the batch's distinct token types.

        Args:
            text: (B, T) token ids.
            dtype: Type of the table.

        Returns:
            ``table`` (L, U) on the device of ``text`` and ``columns`` (B, T) into its columns.
        """
        types, index = torch.unique(text, return_inverse=True)
        rows = self._by_token[types.cpu().numpy()]
        # Fortran order of (U, L) is C order of (L, U): the layout that blocks of labels slice
        table = torch.from_numpy(rows.toarray(order="F").T)
        entries = None
        if text.device.type == "cpu":
            by_label = rows.tocsc()
            entries = SparseTable(by_label.indptr, by_label.indices, by_label.data, len(types))
        return PriorLookup(table.to(device=text.device, dtype=dtype), index, entries)


def selected_relevance(prior: PriorLookup, labels: Tensor) -> Tensor:
    """Relevance of chosen labels at every position.

    Args:
        prior: ``table`` (L, U), ``columns`` (B, T).
        labels: (B, M) label ids, each document its own.

    Returns:
        (B, M, T).
    """
    picked = [prior.table[chosen][:, columns] for chosen, columns in zip(labels, prior.columns, strict=True)]
    return torch.stack(picked)
