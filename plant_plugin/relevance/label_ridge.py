"""Ridge regression label by label: each label's weights from its own documents and from few others.

The kernel ridge of :mod:`.ridge` gives every document a share in every label. Nearly all of these shares are next to
nothing: a label's weights come from the documents that have it and from those that look as if they had. So each label
is solved on its own documents, on such that a first model takes for its own, and on some drawn at random, which keep
its scores near 0 elsewhere. Time and memory grow with documents, not with their square.

Shapes: N training documents, L labels, V terms, S documents that a label is solved on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import torch
from numba import njit

from plant_plugin.relevance.index_kernels import count_above_0, keep_largest
from plant_plugin.relevance.mutual_information import narrow
from plant_plugin.relevance.pruned_index import PRUNED_ABOVE, PrunedIndex
from plant_plugin.relevance.ridge import RidgeOptions

# Chosen on validation documents of EURLEX-6K and CodiEsp for scores as of the exact solution (benchmarks/TRIALS.md).
DRAWN = 300  # documents drawn at random for each label
HARD = 200  # labels of a document that are not its own and that the first model ranks highest
FIRST = 200  # weights of a label in the first model
FIRST_DRAWN, FIRST_PASSES = 100, 3  # its DRAWN and PASSES
PASSES = 4  # over the documents of a label
STILL = 0.01  # a smaller step of a dual variable, which is below 1, is not taken
QUIET = 2  # so many steps in a row that were not taken, and a document is passed over
CELLS = 4_000_000  # weights or proposals held by a worker before they are packed

Part = TypeVar("Part")


class Each(Protocol):
    """Hands out blocks: ``work`` gets a block's first and last, then what blocks share; results in their order."""

    def __call__(
        self, work: Callable[..., Part], blocks: list[tuple[int, int]], shared: tuple[object, ...]
    ) -> list[Part]:
        """Return the results of ``work`` for each block."""


def on_threads(work: Callable[..., Part], blocks: list[tuple[int, int]], shared: tuple[object, ...]) -> list[Part]:
    """Return the results of ``work`` for each block, from this machine's threads."""
    with ThreadPoolExecutor(torch.get_num_threads()) as pool:
        return list(pool.map(lambda block: work(*block, *shared), blocks))


def solve_by_label(
    features: sp.csr_array, targets: sp.csr_array, options: RidgeOptions, each: Each = on_threads
) -> sp.csr_array:
    """Return the ``options.top`` largest weights of each label's ridge regression; shapes as of :func:`.solve_ridge`.

    The result does not depend on the number of threads, nor on the machines that ``each`` hands blocks of labels to.

    Source: Shalev-Shwartz & Zhang 2013, "Stochastic Dual Coordinate Ascent" (the solver, here of the squared loss);
    Prabhu et al. 2018, "Parabel" (negatives of a label are documents that look like its own).
    """
    # Terms by how many documents hold them: the frequent ones then lie side by side in the processor's cache.
    holding = count_above_0(features.indices, features.data, features.shape[1])
    order = np.argsort(-holding, kind="stable").astype(np.int32)
    place = np.empty_like(order)
    place[order] = np.arange(len(order), dtype=np.int32)
    rows = sp.csr_array((features.data, place[features.indices], features.indptr), shape=features.shape)
    of_label = sp.csr_array(targets.T)
    nobody = sp.csr_array((of_label.shape[0], of_label.shape[1]), dtype=np.float32)
    first = _weights(rows, of_label, nobody, Effort(options.penalty, FIRST, FIRST_DRAWN, FIRST_PASSES), each)
    hard = _hard(rows, targets, first, each)
    weights = _weights(rows, of_label, hard, Effort(options.penalty, options.top, DRAWN, PASSES), each)
    weights = sp.csr_array((weights.data, order[weights.indices], weights.indptr), shape=weights.shape)
    weights.sort_indices()
    return weights


class Effort(NamedTuple):
    """The effort for a label: λ, weights that are kept, documents drawn, passes over them."""

    penalty: float
    top: int
    drawn: int
    passes: int


def solve_block(
    first: int, last: int, rows: sp.csr_array, of_label: sp.csr_array, hard: sp.csr_array, effort: Effort
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32], npt.NDArray[np.int64]]:
    """Terms and values of the weights of labels from ``first`` to before ``last``, and how many each label has."""
    terms = rows.shape[1]
    top = min(effort.top, terms)
    columns, values = np.empty((last - first, top), np.int32), np.empty((last - first, top), np.float32)
    lengths = solve_labels(
        first, last, of_label.indptr, of_label.indices, hard.indptr, hard.indices, rows.indptr, rows.indices, rows.data,
        np.float32(effort.penalty), np.float32(STILL), effort.drawn, effort.passes, terms, columns, values,
    )  # fmt: skip
    filled = np.arange(top) < lengths[:, None]
    return columns[filled], values[filled], lengths


def _weights(
    rows: sp.csr_array, of_label: sp.csr_array, hard: sp.csr_array, effort: Effort, each: Each
) -> sp.csr_array:
    """The largest weights (L, V) of labels whose documents and hard negatives are rows of ``of_label`` and ``hard``."""
    labels, terms = of_label.shape[0], rows.shape[1]
    blocks = list(_blocks(labels, min(effort.top, terms)))
    parts = each(solve_block, blocks, (rows, of_label, hard, effort))
    offsets = narrow(np.cumsum(np.concatenate([[0], *(lengths for _, _, lengths in parts)])))
    where, weights, end = np.empty(offsets[-1], np.int32), np.empty(offsets[-1], np.float32), int(offsets[-1])
    while parts:  # the last first, each let go of once it is copied: together they are as large as the whole
        columns, values, _ = parts.pop()
        where[end - len(columns) : end], weights[end - len(columns) : end] = columns, values
        end -= len(columns)
    return sp.csr_array((weights, where, offsets), shape=(labels, terms))


def propose_block(
    start: int, stop: int, rows: sp.csr_array, targets: sp.csr_array, first: sp.csr_array,
    by_term: PrunedIndex | sp.csr_array, most: int,
) -> npt.NDArray[np.int32]:  # fmt: skip
    """Return for documents from ``start`` to before ``stop`` the ``most`` others that the first model ranks highest.

    −1 stands where there are fewer.
    """
    if isinstance(by_term, PrunedIndex):
        return by_term.highest_others(rows[start:stop], first, targets[start:stop], most)
    proposed = np.full((stop - start, most), -1, np.int32)
    propose_labels(
        start, rows.indptr, rows.indices, rows.data, by_term.indptr, by_term.indices, by_term.data,
        targets.indptr, targets.indices, targets.shape[1], proposed,
    )  # fmt: skip
    return proposed


def _hard(rows: sp.csr_array, targets: sp.csr_array, first: sp.csr_array, each: Each = on_threads) -> sp.csr_array:
    """Hard negatives of each label, (L, N): documents that rank it among their ``HARD`` highest others.

    Of more labels than ``PRUNED_ABOVE`` they are among the highest that the pruned index finds, its own counted in.
    """
    documents, labels = targets.shape
    most = min(HARD, labels)
    by_term = PrunedIndex.of(first) if labels > PRUNED_ABOVE else sp.csr_array(first.T)
    shared = (rows, targets, first, by_term, most)
    proposals = np.concatenate(each(propose_block, list(_blocks(documents, most)), shared))
    chosen = proposals >= 0
    offsets = narrow(np.concatenate([[0], chosen.sum(axis=1).cumsum()]))
    proposed = sp.csr_array((np.ones(offsets[-1], np.bool_), proposals[chosen], offsets), shape=(documents, labels))
    return sp.csr_array(proposed.T)


def _blocks(count: int, width: int) -> Iterator[tuple[int, int]]:
    """Runs of rows of so many cells that a worker can hold them."""
    step = max(1, CELLS // max(1, width))
    return pairwise([*range(0, count, step), count])


@njit(nogil=True, cache=True)
def draw(state):  # type: ignore[no-untyped-def]
    """The next number of a label's own row of random ones (xorshift, Marsaglia 2003): the same on any thread."""
    state ^= state << np.uint64(13)
    state ^= state >> np.uint64(7)
    return state ^ (state << np.uint64(17))


@njit(nogil=True, cache=True)
def choose(label, state, positives, hard, drawn, seen, chosen):  # type: ignore[no-untyped-def]
    """Put the documents that a label is solved on into ``chosen`` (N,), each once; returns the state and S.

    ``seen`` (N,) says for which label a document was last taken.
    """
    count = len(positives) + len(hard)
    chosen[: len(positives)], chosen[len(positives) : count] = positives, hard
    for place in range(count):
        seen[chosen[place]] = label
    for _ in range(drawn):
        state = draw(state)
        document = np.int64(state % np.uint64(len(seen)))
        if seen[document] != label:
            seen[document], chosen[count], count = label, document, count + 1
    return state, count


@njit(nogil=True, cache=True, fastmath=True)
def solve_labels(  # type: ignore[no-untyped-def]
    first, last, own_offsets, of_label, hard_offsets, hard, offsets, terms, values, penalty, still, drawn, passes, size,
    out_terms, out_values,
):  # fmt: skip
    """Weights of the labels from ``first`` to before ``last``: the largest of each go to a row of ``out_…``.

    ``of_label`` and ``hard`` are document numbers, ``offsets``, ``terms`` and ``values`` the features' CSR (N, V),
    ``size`` is V. Returns how many weights each label has, int64.

    Minimises Σ (y − w·x)² + λ·‖w‖² over the S documents by its dual variables one at a time, w = Σ α·x: exact in each.
    """
    documents = len(offsets) - 1
    seen = np.full(documents, -1, np.int32)  # the label that a document was last taken for
    weights, where, packed = np.zeros(size, np.float32), np.empty(size, np.int32), np.empty(size, np.float32)
    chosen, alpha = np.empty(documents, np.int32), np.empty(documents, np.float32)
    quiet = np.empty(documents, np.uint8)  # times in a row that a document's step was not taken
    lengths = np.zeros(last - first, np.int64)
    for label in range(first, last):
        positives = own_offsets[label + 1] - own_offsets[label]
        if positives == 0:
            continue
        state = (np.uint64(label) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        owns = of_label[own_offsets[label] : own_offsets[label + 1]]
        state, count = choose(
            label, state, owns, hard[hard_offsets[label] : hard_offsets[label + 1]], drawn, seen, chosen
        )
        order = np.arange(count)  # of the S documents: its own first, for the others to be seen as they are; then mixed
        alpha[:count], quiet[:count] = 0, 0
        for _ in range(passes):
            for place in order:
                if quiet[place] == QUIET:
                    continue
                begin, end = offsets[chosen[place]], offsets[chosen[place] + 1]
                score, square = np.float32(0), np.float32(0)
                for entry in range(begin, end):
                    square += values[entry] * values[entry]
                    score += weights[terms[entry]] * values[entry]
                truth = np.float32(1) if place < positives else np.float32(0)
                step = (truth - score - penalty * alpha[place]) / (square + penalty)
                quiet[place] += 1
                if abs(step) >= still:
                    quiet[place] = 0
                    alpha[place] += step
                    for entry in range(begin, end):
                        weights[terms[entry]] += step * values[entry]
            for place in range(count - 1, 0, -1):
                state = draw(state)
                other = np.int64(state % np.uint64(place + 1))
                order[place], order[other] = order[other], order[place]
        number = 0
        for place in range(count):
            if alpha[place] != 0:
                begin, end = offsets[chosen[place]], offsets[chosen[place] + 1]
                number = take(terms[begin:end], weights, where, packed, number)
        row = label - first
        lengths[row] = keep_largest(where[:number], packed[:number], out_terms[row], out_values[row])
    return lengths


@njit(nogil=True, cache=True)
def take(terms, weights, where, packed, number):  # type: ignore[no-untyped-def]
    """Move the weights (V,) of some terms after the first ``number`` of ``packed``, their terms to ``where``."""
    for term in terms:
        if weights[term] != 0:
            where[number], packed[number], number = term, weights[term], number + 1
            weights[term] = 0
    return number


@njit(nogil=True, cache=True)
def propose_labels(  # type: ignore[no-untyped-def]
    start, offsets, terms, values, label_offsets, labels, weights, own_offsets, known, size, out
):
    """Propose for each document from ``start`` on the labels of the highest scores above 0, but for those it has.

    ``offsets``, ``terms``, ``values`` are the features' CSR (N, V), ``label_offsets``, ``labels``, ``weights`` the
    model's (V, L), ``own_offsets`` and ``known`` the documents' labels, ``size`` is L. The proposals
    go to the rows of ``out``, which is −1 where there are fewer.
    """
    scores, highest = np.empty(size, np.float32), np.empty(out.shape[1], np.float32)
    for row in range(len(out)):
        document = start + row
        scores[:] = 0
        for entry in range(offsets[document], offsets[document + 1]):
            term, value = terms[entry], values[entry]
            for place in range(label_offsets[term], label_offsets[term + 1]):
                scores[labels[place]] += value * weights[place]
        for place in range(own_offsets[document], own_offsets[document + 1]):
            scores[known[place]] = -1
        above = np.flatnonzero(scores > 0)
        keep_largest(above, scores[above], out[row], highest)
