"""What label attention does with a block of scores besides the matrix products: softmax, weighted sum, gradients.

Compiled for float32 on a CPU, where each row goes through a core's cache once; torch's operations for everything else.

Shape key: **l** labels of a block · **n** documents · **P** positions. A row is one label of one document.
"""

from __future__ import annotations

import numpy as np
import torch
from numba import njit
from torch import Tensor

from plant_plugin.networks.kernels.exponential import INTEGER, LOG2_E, REORDERED, SINGLE, power_of_two

# Scores are cut off this far below the highest: e^-80 adds nothing to a float32 sum, but a vectorised exp of −∞ or of
# anything that underflows takes a slow path (measured: 5 to 30 ns an element instead of 0.4).
LOWEST_EXPONENT = -80.0
_LOWEST = SINGLE(LOWEST_EXPONENT)


def is_compiled(scores: Tensor) -> bool:
    """Whether the compiled loops take such scores."""
    return scores.device.type == "cpu" and scores.dtype == torch.float32


def attend(scores: Tensor, contributions: Tensor, bias: Tensor | None, attended: Tensor, normaliser: Tensor) -> None:
    """Softmax over positions and the weighted sum of the contributions, of every row.

    Args:
        scores: (l, n, P), overwritten.
        contributions: (l, n, P), overwritten.
        bias: (n, P) 0 or −∞, or None.
        attended: (l, n), gets the sums.
        normaliser: (l, n), gets the logarithm of the sum of the exponentials.
    """
    if is_compiled(scores):
        _attend(scores.numpy(), contributions.numpy(), _array(bias), attended.numpy(), normaliser.numpy())
        return
    if bias is not None:
        scores.add_(bias)
    highest = scores.amax(dim=-1, keepdim=True)
    weights = scores.sub_(highest).clamp_(min=LOWEST_EXPONENT).exp_()
    total = weights.sum(dim=-1)
    attended.copy_(contributions.mul_(weights).sum(dim=-1) / total)
    normaliser.copy_(highest.squeeze(-1) + total.log())


def turn_into_gradients(
    scores: Tensor, contributions: Tensor, bias: Tensor | None, attended: Tensor, normaliser: Tensor, arriving: Tensor
) -> None:
    """Put the gradients of scores and contributions in each other's place: what products need them for is symmetric.

    Args:
        scores: (l, n, P), becomes the gradient of the contributions.
        contributions: (l, n, P), becomes the gradient of the scores.
        bias: (n, P) 0 or −∞, or None.
        attended: (l, n) of :func:`attend`.
        normaliser: (l, n) of :func:`attend`.
        arriving: (l, n) gradient of ``attended``.
    """
    if is_compiled(scores):
        rows = (part.numpy() for part in (attended, normaliser, arriving))
        _turn(scores.numpy(), contributions.numpy(), _array(bias), *rows)
        return
    if bias is not None:
        scores.add_(bias)
    weights = scores.sub_(normaliser[..., None]).clamp_(min=LOWEST_EXPONENT).exp_()
    weights.mul_(arriving[..., None])
    contributions.sub_(attended[..., None]).mul_(weights)


def _array(bias: Tensor | None) -> np.ndarray:
    return np.empty((0, 0), np.float32) if bias is None else bias.numpy()


@njit(nogil=True, cache=True, error_model="numpy", fastmath=REORDERED)
def _attend(scores, contributions, bias, attended, normaliser):  # type: ignore[no-untyped-def]
    for label in range(scores.shape[0]):
        for document in range(scores.shape[1]):
            row, read = scores[label, document], contributions[label, document]
            _mask(row, bias, document)
            highest = _highest(row)
            total, found = SINGLE(0), SINGLE(0)
            for place in range(len(row)):
                below = row[place] - highest
                below = _LOWEST if below < _LOWEST else below
                weight = power_of_two(below * LOG2_E)
                total += weight
                found += weight * read[place]
            attended[label, document] = found / total
            normaliser[label, document] = highest + np.log(total)


@njit(nogil=True, cache=True, error_model="numpy", fastmath=REORDERED)
def _turn(scores, contributions, bias, attended, normaliser, arriving):  # type: ignore[no-untyped-def]
    for label in range(scores.shape[0]):
        for document in range(scores.shape[1]):
            row, read = scores[label, document], contributions[label, document]
            _mask(row, bias, document)
            mean, norm, pull = attended[label, document], normaliser[label, document], arriving[label, document]
            for place in range(len(row)):
                below = row[place] - norm
                below = _LOWEST if below < _LOWEST else below
                weight = power_of_two(below * LOG2_E) * pull
                row[place] = weight
                read[place] = (read[place] - mean) * weight


@njit(nogil=True, cache=True)
def _mask(row, bias, document):  # type: ignore[no-untyped-def]
    if len(bias):
        for place in range(len(row)):
            row[place] += bias[document, place]


@njit(nogil=True, cache=True)
def _highest(row):  # type: ignore[no-untyped-def]
    """The largest number of a row, by integers in the order of the numbers: those have a vectorised maximum."""
    highest = INTEGER(-(2**31))
    for place in range(len(row)):
        key = _ordered(SINGLE(row[place]).view(INTEGER))
        highest = key if key > highest else highest
    return _ordered(highest).view(SINGLE)


@njit(nogil=True, cache=True, inline="always")
def _ordered(bits):  # type: ignore[no-untyped-def]
    """The bits of a float32 as an integer of the same order, and back."""
    return INTEGER(bits ^ INTEGER(INTEGER(bits >> INTEGER(31)) & INTEGER(0x7FFFFFFF)))
