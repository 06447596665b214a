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
        self._by_token.sort_indices()

    def lookup(self, text: Tensor) -> PriorLookup:
        """Relevance of every label for the batch's distinct token types.

        Args:
            text: (B, T) token ids.

        Returns:
            ``columns`` (B, T) and the float32 table (L, U) that they point into: on a CPU where it is not zero, else
            dense and on the device of ``text``.
        """
        types, index = torch.unique(text, return_inverse=True)
        rows = self._by_token[types.cpu().numpy()]
        if text.device.type == "cpu":
            by_label = rows.tocsc()
            by_type = (rows.indptr, rows.indices, rows.data)
            parts = (by_label.indptr, by_label.indices, by_label.data)
            return PriorLookup(None, index, SparseTable(*parts, len(types), by_type))
        # Fortran order of (U, L) is C order of (L, U): the layout that blocks of labels slice
        table = torch.from_numpy(rows.toarray(order="F").T)
        return PriorLookup(table.to(text.device), index)
