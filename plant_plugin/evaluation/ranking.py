"""Rankings: the best K labels of each document, ties broken by lower label id, and what is counted from them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

Scores = npt.NDArray[np.float32]
Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

BLOCK_ELEMENTS = 4_000_000  # temporary elements at a time: 16 MB of float32


def blocks(number: int, width: int) -> Iterator[slice]:
    """Yield rows of a matrix, as many at a time as have ``BLOCK_ELEMENTS``."""
    step = max(1, BLOCK_ELEMENTS // max(1, width))
    return (slice(start, min(start + step, number)) for start in range(0, number, step))


def top_labels(scores: Scores | sp.csr_matrix, cutoff: int) -> Integers:
    """Choose the best labels of each document, exactly, whatever the ties.

    Args:
        scores: (B, L), no NaN; -inf, and what a sparse matrix does not store, is not scored.
        cutoff: K, 1 to L.

    Returns:
        int64 (B, K), best first, equal scores by lower label id; L where nothing was scored.
    """
    num_labels = scores.shape[1]
    if sp.issparse(scores):
        rows, columns, stored, ranks = _by_rank(scores)
        ranked = (ranks <= cutoff) & ~np.isneginf(stored)
        top = np.full((scores.shape[0], cutoff), num_labels, dtype=np.int64)
        top[rows[ranked], ranks[ranked] - 1] = columns[ranked]
        return top
    chosen = np.argpartition(scores, num_labels - cutoff, axis=1)[:, num_labels - cutoff :]
    values = np.take_along_axis(scores, chosen, axis=1)
    last = values.min(axis=1, keepdims=True)
    # Where the K-th score occurs more often than it was chosen, the partition picked any of the equals.
    doubtful = np.flatnonzero((scores == last).sum(axis=1) > (values == last).sum(axis=1))
    for row in doubtful:
        better = np.flatnonzero(scores[row] > last[row])
        equal = np.flatnonzero(scores[row] == last[row])[: cutoff - len(better)]
        chosen[row] = np.concatenate([better, equal])
    values = np.take_along_axis(scores, chosen, axis=1)
    order = np.lexsort((chosen, -values), axis=1)
    unscored = np.isneginf(np.take_along_axis(values, order, axis=1))
    return np.where(unscored, num_labels, np.take_along_axis(chosen, order, axis=1)).astype(np.int64)


def best_scored(scores: Scores | sp.csr_array, cutoff: int) -> list[tuple[Integers, Scores]]:
    """Return labels and scores of the best of each document, see :func:`top_labels`; fewer where fewer are scored."""
    top = top_labels(sp.csr_matrix(scores) if sp.issparse(scores) else scores, cutoff)
    best = scores[np.arange(len(top))[:, None], top.clip(max=scores.shape[1] - 1)]
    values: Scores = best.toarray() if sp.issparse(best) else best  # type: ignore[attr-defined]
    scored = top < scores.shape[1]
    return [(labels[known], value[known]) for labels, value, known in zip(top, values, scored, strict=True)]


def _by_rank(scores: sp.csr_matrix) -> tuple[Integers, npt.NDArray[np.integer], Scores, Integers]:
    """Return rows, columns, values and 1-based ranks of the stored entries: best first, ties by lower column."""
    rows = rows_of(scores)
    order = np.lexsort((scores.indices, -scores.data, rows))
    return rows, scores.indices[order], scores.data[order], _places(scores, rows)


def rows_of(pairs: sp.csr_matrix) -> Integers:
    """Return the row of each stored entry."""
    return np.repeat(np.arange(pairs.shape[0]), np.diff(pairs.indptr))


def _places(pairs: sp.csr_matrix, rows: Integers) -> Integers:
    """Number 1, 2, 3, ... along the stored entries of each row."""
    return np.arange(len(rows)) - pairs.indptr[:-1].astype(np.int64)[rows] + 1


def true_at(truth: sp.csr_matrix, labels: Integers) -> npt.NDArray[np.bool_]:
    """Tell whether each of ``labels`` (B, K) is true in its document; ids of L (nothing scored) are not."""
    num_documents, num_labels = truth.shape
    keys = rows_of(truth) * (num_labels + 1) + truth.indices  # sorted: rows ascend, columns ascend within a row
    wanted = np.arange(num_documents)[:, None] * (num_labels + 1) + labels
    if not len(keys):
        return np.zeros(labels.shape, bool)
    positions = np.searchsorted(keys, wanted).clip(max=len(keys) - 1)
    return np.asarray(keys[positions] == wanted)


def _ideal_gains(truth: sp.csr_matrix, weights: Floats, cutoff: int) -> Floats:
    """Return the largest K weights among each document's true labels, descending, (N, K); 0 where it has fewer."""
    gains, rows = weights[truth.indices], rows_of(truth)
    order, places = np.lexsort((-gains, rows)), _places(truth, rows)
    within = places <= cutoff
    best = np.zeros((truth.shape[0], cutoff))
    best[rows[within], places[within] - 1] = gains[order][within]
    return best


def contributions(
    top: Integers, truth: sp.csr_matrix, inverse_propensities: Floats | None = None
) -> dict[str, tuple[Floats, Floats]]:
    """Compute what each document adds above and below the line of the ranked metrics, at every cut-off up to K.

    Args:
        top: (N, K) as of :func:`top_labels`.
        truth: 0/1 (N, L). A document without labels adds 0 above the line.
        inverse_propensities: (L,) how much a hit on each label weighs; None to leave out what is propensity-scored.

    Returns:
        Family -> two arrays (N, K), element k-1 for cut-off k: a metric is the sum of the first over all documents by
        that of the second. Means over documents have the same below the line for each of them.
    """
    hits, num_true = true_at(truth, top), np.diff(truth.indptr)[:, None].astype(np.int64)
    places = np.arange(1, top.shape[1] + 1)
    labels = num_true.clip(1)  # an unlabelled document has no hits: any divisor will do
    reachable = np.minimum(labels, places)
    discount = 1.0 / np.log2(places + 1.0)
    ideal = np.cumsum(discount)[reachable - 1]
    sums, ones = hits.cumsum(axis=1), np.broadcast_to(1.0, hits.shape)
    metrics = {
        "P": (sums, np.broadcast_to(places, hits.shape)),
        "R": (sums / labels, ones),
        "RP": (sums / reachable, ones),
        "nDCG": ((hits * discount).cumsum(axis=1) / ideal, ones),
    }
    if inverse_propensities is not None:
        gained = np.append(inverse_propensities, 0.0)[top] * hits
        best = _ideal_gains(truth, inverse_propensities, top.shape[1])
        of_label = 1.0 / labels
        metrics["PSP"] = gained.cumsum(axis=1), best.cumsum(axis=1)
        metrics["PSnDCG"] = (gained * discount).cumsum(axis=1) / ideal, (best * discount).cumsum(axis=1) / ideal
        metrics["PSR"] = gained.cumsum(axis=1) * of_label, best.cumsum(axis=1) * of_label
    return metrics


def overall(of_family: dict[str, tuple[Floats, Floats]]) -> dict[str, Floats]:
    """Compute the metrics of all documents from their contributions: family -> (K,)."""
    return {family: divided(above.sum(axis=0), below.sum(axis=0)) for family, (above, below) in of_family.items()}


def divided(above: Floats, below: Floats) -> Floats:
    """Divide sums over documents; 0/0 = 0."""
    return above / np.where(below == 0, 1.0, below)


def average_precisions(scores: Scores | sp.csr_matrix, truth: sp.csr_matrix) -> Floats:
    """Compute the average precision of each document over its full ranking, from what ``store.checked`` returns.

    Returns:
        float64 (B,) in [0, 1], NaN for documents without labels. A true label without a score adds nothing.
    """
    if sp.issparse(scores):
        rows, columns, _, places = _by_rank(scores)
        pairs = sp.csr_matrix((places, (rows, columns)), shape=scores.shape).multiply(truth).tocsr()
    else:
        pairs = truth
    num_true, rows = np.diff(truth.indptr), rows_of(pairs)
    ranks = pairs.data if sp.issparse(scores) else _ranks(scores, rows, truth.indices)
    # Within a document, the i-th best-placed true label has precision i / rank.
    order = np.lexsort((ranks, rows))
    sums = np.bincount(rows, weights=_places(pairs, rows) / ranks[order], minlength=truth.shape[0])
    return np.where(num_true > 0, sums / num_true.clip(1), np.nan)


def with_unranked(precisions: npt.NDArray[np.floating], known: Integers, wanted: Integers) -> Floats:
    """Return average precisions (N,) of the ``known`` true labels where ``wanted`` are to be found.

    They are NaN where that is 0.
    """
    return np.where(wanted > 0, np.nan_to_num(precisions) * known / wanted.clip(1), np.nan)


def _ranks(scores: Scores, rows: Integers, columns: npt.NDArray[np.integer]) -> Floats:
    """Return the 1-based rank of each (row, column), ties by lower column; inf where not scored."""
    num_labels = scores.shape[1]
    ranks = np.empty(len(rows))
    for part in blocks(len(rows), num_labels):
        score = scores[rows[part], columns[part]][:, None]
        all_scores = scores[rows[part]]
        equal = all_scores == score
        ranks[part] = 1 + (all_scores > score).sum(axis=1)
        tied = np.flatnonzero(equal.sum(axis=1) > 1)
        if len(tied):
            lower = np.arange(num_labels) < columns[part][tied][:, None]
            ranks[part][tied] += (equal[tied] & lower).sum(axis=1)
        ranks[part][np.isneginf(score[:, 0])] = np.inf
    return ranks
