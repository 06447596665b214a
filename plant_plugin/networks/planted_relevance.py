"""The relevance table (L, V) as a network reads it: the rows of the tokens that a batch holds."""

from __future__ import annotations

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from plant_plugin.networks.kernels.label_attention import PriorLookup
from plant_plugin.networks.kernels.sparse_prior import SparseTable


class PlantedRelevance:
    """Sparse relevance of labels for token types, looked up batch by batch.

    Args:
        matrix: (L, V) relevance in [0, 1], sparse; what :mod:`plant_plugin.relevance` computes.
    """

    def __init__(self, matrix: sparse.csr_array) -> None:
        self.shape: tuple[int, int] = matrix.shape
        self._by_token = sparse.csr_matrix(matrix.T, dtype=np.float32)  # (V, L): a batch reads rows of tokens
        self._by_token.sort_indices()

    def lookup(self, text: Tensor, marks: tuple[Tensor, Tensor, Tensor] | None = None) -> PriorLookup:
        """Relevance of every label for the batch's distinct token types.

        Args:
            text: (B, T) token ids.
            marks: What is added to the relevance at single positions: their places in the flat (B·T), in order, labels
                and values; or None.

        Returns:
            ``columns`` (B, T) and the float32 table (L, U) that they point into: on a CPU where it is not zero, else
            dense and on the device of ``text``. Each marked position has a column more of its own.
        """
        types, index = torch.unique(text, return_inverse=True)
        rows = self._by_token[types.cpu().numpy()]
        second = None
        if marks is not None:
            own, second = _columns_of_marks(marks, rows.shape, text)
            rows = sparse.vstack([rows, own], format="csr")
        if text.device.type == "cpu":
            by_label = rows.tocsc()
            by_type = (rows.indptr, rows.indices, rows.data)
            parts = (by_label.indptr, by_label.indices, by_label.data)
            return PriorLookup(None, index, SparseTable(*parts, rows.shape[0], by_type), second)
        # Fortran order of (U, L) is C order of (L, U): the layout that blocks of labels slice
        table = torch.from_numpy(rows.toarray(order="F").T)
        return PriorLookup(table.to(text.device), index, None, second)


def _columns_of_marks(
    marks: tuple[Tensor, Tensor, Tensor], shape: tuple[int, int], text: Tensor
) -> tuple[sparse.csr_matrix, Tensor]:
    """The further rows that marks make, the last one empty, and which of all rows belongs to each position (B, T).

    Args:
        marks: See :meth:`PlantedRelevance.lookup`.
        shape: (U, L), of the rows before these.
        text: (B, T).
    """
    places, labels, values = (part.cpu().numpy() for part in marks)
    marked, row = np.unique(places, return_inverse=True)
    rows = sparse.csr_matrix((values, (row, labels)), shape=(len(marked) + 1, shape[1]), dtype=np.float32)
    second = torch.full_like(text, shape[0] + len(marked))
    second.view(-1)[torch.from_numpy(marked).to(text.device)] = torch.arange(len(marked), device=text.device) + shape[0]
    return rows, second
