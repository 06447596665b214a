"""Cholesky's factors of a large matrix, block by block: a library's threads fail at the whole.

Shapes: N rows of a symmetric matrix.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch

# Rows that LAPACK factors and solves at once: OpenBLAS 0.3.30 ends the process when several threads factor 30,000.
ROWS = 8_192
STEP = 2_048  # columns that are solved, or rows that are brought up to date, at once


def factor(kernel: torch.Tensor) -> list[npt.NDArray[np.float32]]:
    """Replace the upper triangle of a kernel matrix (N, N) by U with Uᵀ·U = the matrix, in place.

    Returns the blocks on U's diagonal, each transposed: a matrix that is one block is what LAPACK makes of it.

    Raises:
        numpy.linalg.LinAlgError: The matrix is not positive definite in 32 bits.

    Source: Golub & Van Loan 2013, "Matrix Computations", section 4.2.6 (block outer product Cholesky).
    """
    from scipy.linalg import cho_factor, solve_triangular  # predicting solves nothing

    factors, count = [], len(kernel)
    for start in range(0, count, ROWS):
        end = min(start + ROWS, count)
        # In place, where torch would need twice the memory: Fortran's lower triangle is the upper one that was made.
        square = kernel[start:end, start:end].numpy().T
        corner, _ = cho_factor(square, lower=True, overwrite_a=True, check_finite=False)
        factors.append(corner)
        right, below = kernel[start:end, end:], kernel[end:, end:]
        for first in range(0, count - end, STEP):
            part = right[:, first : first + STEP]
            part.copy_(torch.from_numpy(solve_triangular(corner, part.numpy(), lower=True, check_finite=False)))
        for first in range(0, count - end, STEP):
            below[first : first + STEP, first:].addmm_(right[:, first : first + STEP].T, right[:, first:], alpha=-1)
    return factors


def solve(
    kernel: torch.Tensor, factors: Sequence[npt.NDArray[np.float32]], targets: npt.NDArray[np.float32]
) -> torch.Tensor:
    """Return α (N, labels) with Uᵀ·U·α = targets, of what :func:`factor` left in the kernel matrix and returned."""
    from scipy.linalg import solve_triangular

    solved = torch.from_numpy(targets)
    starts = range(0, len(kernel), ROWS)
    for start, corner in zip(starts, factors, strict=True):
        end = start + len(corner)
        block = torch.from_numpy(solve_triangular(corner, targets[start:end], lower=True, check_finite=False))
        solved[start:end] = block
        solved[end:].addmm_(kernel[start:end, end:].T, block, alpha=-1)
    for start, corner in reversed([*zip(starts, factors, strict=True)]):
        end = start + len(corner)
        solved[start:end].addmm_(kernel[start:end, end:], solved[end:], alpha=-1)
        block = torch.from_numpy(solve_triangular(corner, targets[start:end], trans=1, lower=True, check_finite=False))
        solved[start:end] = block
    return solved
