"""One threshold for all labels that makes F1 on the validation split as large as it can be.

Any threshold between two neighbouring scores predicts the same, and lowering it past false pairs only adds
mistakes. So the best threshold lies just below the score of some true pair, and only those have to be compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from plant_plugin.errors import DataError
from plant_plugin.evaluation.ranking import Scores, rows_of
from plant_plugin.evaluation.store import Matrix, ScoreStore, checked

Floats = npt.NDArray[np.float64]
ROUNDING = 1e-12  # F1 this close count as equal


class Tuned(NamedTuple):
    """Thresholds of the validation split, and its labels at them.

    Attributes:
        thresholds: ``micro`` and ``macro``, in score space. Each lies half-way between two neighbouring distinct
            scores, or on the lower one where float32 has nothing in between; of equally good ones the highest is
            taken. 0.0 where no true pair was scored.
        documents: int64 (L,), documents that have each label.
        f1: Name of a threshold (those given as fixed too) -> F1 of each label there, float64 (L,).
    """

    thresholds: dict[str, float]
    documents: npt.NDArray[np.int64]
    f1: dict[str, Floats]


def tune(
    batches: Iterable[tuple[Matrix, Matrix]],
    *,
    fixed: Mapping[str, float] | None = None,
    spill_folder: Path | None = None,
) -> Tuned:
    """Find the thresholds of the largest micro-F1 and macro-F1 (mean over all labels), and each label's F1 there.

    Args:
        batches: Scores and truth (B, L) of the *validation* split, as :meth:`.metrics.Evaluator.update` takes them.
        fixed: Name -> threshold at which the labels' F1 is wanted as well.
        spill_folder: Where the scores are kept meanwhile; see :class:`.store.ScoreStore`.

    Raises:
        DataError: No documents.
        PlantError: NaN among the scores, or the disk is full.
    """
    store: ScoreStore | None = None
    listed: list[tuple[sp.csr_matrix, sp.csr_matrix]] = []
    try:
        for given_scores, given_truth in batches:
            scores, truth = checked(given_scores, given_truth)
            if sp.issparse(scores):
                listed.append((scores, truth))
                continue
            store = store or ScoreStore(truth.shape[1], spill_folder)
            store.append(scores, truth)
        if listed and store is None:
            return _tuned(*_listed(listed), fixed or {})
        if store is None or not store.num_documents:
            raise DataError(
                "there are no validation documents to tune thresholds on", fix="give val_file or a val_size above 0"
            )
        for scores, truth in listed:
            store.append(scores, truth)
        return _tuned(store.documents(), store.true_scores(), partial(_stored, store), fixed or {})
    finally:
        if store is not None:
            store.close()


# Scores of some labels, of any shape; and each of these that is true anywhere, its scores, and those of its true pairs.
Blocks = Iterator[tuple[Scores, Iterable[tuple[int, Scores, Scores]]]]


def _stored(store: ScoreStore) -> Blocks:
    for start, block, true in store.blocks():
        yield block, ((start + place, block[place], block[place, documents]) for place, documents in true)


def _listed(
    batches: list[tuple[sp.csr_matrix, sp.csr_matrix]],
) -> tuple[npt.NDArray[np.int64], Scores, Callable[[], Blocks]]:
    """Return what :func:`_tuned` takes, of scores that are sparse: no row of all labels is made."""
    scores, truth = (sp.csr_matrix(sp.vstack(parts)) for parts in zip(*batches, strict=True))
    num_labels = truth.shape[1]
    documents, scored = (np.bincount(matrix.indices, minlength=num_labels) for matrix in (truth, scores))
    pairs, true_pairs = (rows_of(matrix) * num_labels + matrix.indices for matrix in (scores, truth))
    hit = np.isin(pairs, true_pairs)
    true_scores = np.full(truth.nnz, -np.inf, np.float32)  # a true label without a score is below every threshold
    true_scores[: hit.sum()] = scores.data[hit]
    by_label = np.split(np.argsort(scores.indices, kind="stable"), scored.cumsum()[:-1])

    def labels() -> Iterator[tuple[int, Scores, Scores]]:
        for label in np.flatnonzero(documents).tolist():
            of_label: Scores = scores.data[by_label[label]]
            positives = np.full(documents[label], -np.inf, np.float32)
            scored_positives = of_label[hit[by_label[label]]]
            positives[: len(scored_positives)] = scored_positives
            yield label, of_label, positives

    return documents, true_scores, lambda: iter([(scores.data, labels())])


def _tuned(
    documents: npt.NDArray[np.int64], true_scores: Scores, blocks: Callable[[], Blocks], fixed: Mapping[str, float]
) -> Tuned:
    """Tune from how many documents have each label, and the scores of all true pairs, -inf where there is none."""
    thresholds = _best_thresholds(true_scores, blocks())
    at = {name: np.float32(threshold) for name, threshold in {**fixed, **thresholds}.items()}
    f1 = {name: np.zeros(len(documents)) for name in at}  # of a label that is never true it stays 0
    for _, labels in blocks():
        for label, scores, positives in labels:
            for name, threshold in at.items():
                hit, predicted = np.count_nonzero(positives > threshold), np.count_nonzero(scores > threshold)
                f1[name][label] = 2 * hit / (predicted + len(positives))
    return Tuned(thresholds, documents, f1)


def _best_thresholds(true_scores: Scores, blocks: Blocks) -> dict[str, float]:
    candidates = np.unique(true_scores[~np.isneginf(true_scores)])
    if not len(candidates):
        return {"micro": 0.0, "macro": 0.0}
    predicted = np.zeros(len(candidates), np.int64)  # pairs that score at least the candidate
    neighbour = np.full(len(candidates), -np.inf, dtype=np.float32)  # largest score below it
    macro_change = np.zeros(len(candidates))  # of the sum of the labels' F1, when the candidate is let in
    for scores, labels in blocks:
        for _, of_label, positives in labels:
            _add_label(macro_change, of_label, positives, candidates)
        ordered = np.sort(scores, axis=None)
        lower = np.searchsorted(ordered, candidates, side="left")
        predicted += len(ordered) - lower
        np.maximum(neighbour, np.where(lower > 0, ordered[lower - 1], -np.inf), out=neighbour)
    true_positives = len(true_scores) - np.searchsorted(np.sort(true_scores), candidates)
    micro = 2.0 * true_positives / (predicted + len(true_scores))
    macro = macro_change[::-1].cumsum()[::-1]
    chosen = {}
    for name, values in (("micro", micro), ("macro", macro)):
        best = int(np.flatnonzero(values >= values.max() - ROUNDING)[-1])
        chosen[name] = _between(neighbour[best], candidates[best])
    return chosen


def _add_label(change: Floats, scores: Scores, positives: Scores, candidates: Scores) -> None:
    """Add to ``change`` (candidates,) how one label's F1 moves, from its scores (N,) and those of its positives."""
    candidates_reached = np.sort(scores[scores >= candidates[0]])[::-1]
    # A score is predicted from the first candidate on that it reaches; all that share this candidate come in together.
    entered = np.searchsorted(candidates, candidates_reached, side="right") - 1  # descending
    last = np.flatnonzero(np.diff(entered, append=-1))  # the last score of each group
    hit = len(positives) - np.searchsorted(np.sort(positives), candidates[entered[last]])
    f1 = 2.0 * hit / (last + 1 + len(positives))
    change[entered[last]] += np.diff(f1, prepend=0.0)


def _between(below: np.float32, above: np.float32) -> float:
    """Return a float32 number that ``above`` exceeds and ``below`` does not."""
    if np.isneginf(below):
        return float(np.nextafter(above, np.float32(-np.inf)))
    middle = np.float32((np.float64(above) + np.float64(below)) / 2)
    return float(middle if below <= middle < above else below)
