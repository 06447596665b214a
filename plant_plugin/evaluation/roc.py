"""Area under the ROC curve, per label and over all pairs, ties half: exact, and on any resample of the documents.

The area of a label is 1 - (false documents above true ones, ties half) / (true × false). A false document matters only
where at least one true one is not above it, so a good ranking leaves few to keep: for each, how many true documents of
the label score lower and how many the same. A resample weighs both sides; the area is exact.

The area over all pairs compares each true pair with each false one of any label and document. For resamples, scores are
counted in 256 bins; pairs within a bin count half. As long as true pairs have at most 127 distinct scores, each of
these has a bin of its own and the area is exact. With more the edges are quantiles of them, and what this rounds off
the exact area of all documents is added to every resample's; the rest shrinks with the number of true pairs: a few
tenths of what resamples differ by with some hundred of them, a few hundredths with many thousands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from plant_plugin.evaluation.arrays import WHOLE, ArrayFile
from plant_plugin.evaluation.ranking import Scores
from plant_plugin.evaluation.store import ScoreStore

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
BINS = 256
MOST_PLACES = 3_000_000  # a file of some 10 MB; a ranking that needs more is hardly one
BLOCK_ELEMENTS = 400_000  # sums at a time: few enough for a processor's cache
ARRAYS = ("labels", "true_documents", "true_counts", "false_documents", "false_counts", "lower", "ties")


@dataclass(frozen=True, repr=False)
class RocParts:
    """Of every label with both classes, K of them: its true documents, and the false ones not below all of them."""

    labels: Integers  # (K,) columns
    true_documents: Integers  # label after label, by ascending score
    true_counts: Integers  # (K,) how many of these a label has
    false_documents: Integers  # label after label
    false_counts: Integers  # (K,)
    lower: Integers  # beside `false_documents`: true documents of the label with a lower score
    ties: Integers  # with the same score
    _: KW_ONLY
    bins: Integers | None = None  # (2, N, BINS) true and false pairs of each document in each bin of scores
    area: float | None = None  # over all pairs of all documents, exact; None like `bins` where it is not known

    @classmethod
    def of_label(cls, label: int, scores: Scores, true: Integers) -> RocParts:
        """One label's, from the scores of all documents (N,) and the numbers of the true ones."""
        true = true[np.argsort(scores[true], kind="stable")]
        own = scores[true]
        matters = scores >= own[0]
        matters[true] = False
        false = np.flatnonzero(matters)
        lower, up_to = (np.searchsorted(own, scores[false], side=side) for side in ("left", "right"))
        one, num_true, num_false = (np.array([number]) for number in (label, len(true), len(false)))
        return cls(one, true, num_true, false, num_false, lower, up_to - lower)

    @classmethod
    def joined(cls, parts: Sequence[RocParts]) -> RocParts:
        """Those of several labels or groups of labels."""
        none = np.empty(0, dtype=np.int64)
        return cls(*(np.concatenate([none, *(getattr(part, name) for part in parts)]) for name in ARRAYS))

    def in_order(self, order: Integers) -> RocParts:
        """The same with document ``order[i]`` called i."""
        new = np.argsort(order)
        bins = None if self.bins is None else self.bins[:, order]
        true, false = new[self.true_documents], new[self.false_documents]
        return replace(self, true_documents=true, false_documents=false, bins=bins)

    def renamed(self, new: Integers) -> RocParts:
        """The same with label l called ``new[l]`` among others; the area over all pairs is not known there."""
        return replace(self, labels=new[self.labels], bins=None, area=None)

    def with_unranked(self, labels: Integers, truth: sp.csr_matrix) -> RocParts:
        """The same with labels (columns of the truth) that scored every document alike: their area is a half."""
        columns, alike = sp.csc_matrix(truth), np.zeros(truth.shape[0], dtype=np.float32)
        true = [columns.getcol(label).indices.astype(np.int64) for label in labels]
        both = [(label, found) for label, found in zip(labels, true, strict=True) if 0 < len(found) < len(alike)]
        return RocParts.joined([self, *(RocParts.of_label(label, alike, found) for label, found in both)])

    def arrays(self) -> dict[str, npt.NDArray[np.number]]:
        """For a file, small."""
        found = {name: getattr(self, name) for name in ARRAYS}
        if self.bins is not None:
            found |= {"true_bins": self.bins[0], "false_bins": self.bins[1]}
        wide = {name: np.uint32 if values.max(initial=0) >= 1 << 16 else np.uint16 for name, values in found.items()}
        area = {} if self.bins is None else {"roc_area": np.array(self.area)}
        return {f"roc_{name}": values.astype(wide[name]) for name, values in found.items()} | area

    @classmethod
    def restored(cls, arrays: ArrayFile, documents: int, labels: int) -> RocParts | None:
        """What :meth:`arrays` made, of so many documents and labels, or None where a file holds none."""
        if "labels" not in arrays:
            return None
        below = {"labels": labels - 1, "true_documents": documents - 1, "false_documents": documents - 1}
        found = cls(*(
            arrays.array(name, WHOLE, (None,), low=0, high=below.get(name, documents)).astype(np.int64)
            for name in ARRAYS
        ))  # fmt: skip
        for counts, length in (("true_counts", found.true_documents), ("false_counts", found.false_documents)):
            if int(getattr(found, counts).sum()) != len(length) or len(getattr(found, counts)) != len(found.labels):
                arrays.wrong(f"roc_{counts}", "does not sum to the documents beside it")
        if not len(found.lower) == len(found.ties) == len(found.false_documents):
            arrays.wrong("roc_lower", "has another length than roc_false_documents")
        if (found.lower + found.ties > np.repeat(found.true_counts, found.false_counts)).any():
            arrays.wrong("roc_lower", "counts more true documents than a label has")
        if "area" not in arrays:
            return found
        bins = [arrays.array(f"{kind}_bins", WHOLE, (documents, BINS), low=0) for kind in ("true", "false")]
        return replace(found, bins=np.stack(bins).astype(np.int64), area=arrays.number("area"))


def roc_areas(store: ScoreStore, *, keep: bool) -> tuple[Floats, float, RocParts | None]:
    """The areas of the scores of a split, in which what is not scored ties.

    Returns:
        Area of each label (L,) and area over all pairs, NaN without both classes; what resamples need, None where it is
        not to be kept or has more than ``MOST_PLACES`` false documents.
    """
    number, areas, area = store.num_documents, np.full(store.num_labels, np.nan), np.nan
    parts: list[RocParts] = []
    places = 0
    true_scores = store.true_scores()
    distinct, copies = np.unique(true_scores, return_counts=True)
    above_all = 0.0  # over true pairs: all pairs that score lower, and half of the equal ones
    for start, block, true in store.blocks():
        for place, documents in true:
            if len(documents) == number:
                continue
            found = RocParts.of_label(start + place, block[place], documents)
            pairs = len(documents) * (number - len(documents))
            areas[start + place] = (pairs - (found.lower + found.ties / 2).sum()) / pairs
            places += len(found.lower)
            keep = keep and places <= MOST_PLACES
            parts = parts if keep else []
            if keep:
                parts.append(found)
        block = np.sort(block, axis=None)
        lower, up_to = (np.searchsorted(block, distinct, side=side) for side in ("left", "right"))
        above_all += float(np.dot(copies, (lower + up_to) / 2.0))
    num_true = len(true_scores)
    num_false = number * store.num_labels - num_true
    kept = RocParts.joined(parts) if keep else None
    if num_true and num_false:
        # Among themselves the true pairs account for exactly half of all their comparisons.
        area = (above_all - num_true**2 / 2) / (num_true * num_false)
        kept = replace(kept, bins=_bins(store, true_scores), area=area) if kept else None
    return areas, area, kept


def _bins(store: ScoreStore, true_scores: Scores) -> Integers:
    """True and false pairs of each document in each bin of scores, (2, N, BINS)."""
    distinct = np.unique(true_scores)
    if 2 * len(distinct) < BINS:  # below each, at it, above the last
        edges = np.unique(np.concatenate([distinct, np.nextafter(distinct, np.inf, dtype=distinct.dtype)]))
    else:
        edges = np.unique(np.quantile(true_scores, np.linspace(0, 1, BINS)[1:-1], method="lower"))
    true, every = np.zeros((2, store.num_documents, BINS), dtype=np.int64)
    all_documents = np.arange(store.num_documents)
    for _, block, with_true in store.blocks():
        bins = np.searchsorted(edges, block, side="right")
        for row in bins:
            every[all_documents, row] += 1
        for place, documents in with_true:
            true[documents, bins[place, documents]] += 1
    return np.stack([true, every - true])


class RocSums:
    """The AUCs of one result, ready to be computed under any weighting of its documents."""

    def __init__(self, parts: RocParts, num_documents: int) -> None:
        self.parts, self._number = parts, num_documents
        self._ends = np.concatenate([[0], np.cumsum(parts.true_counts)])  # of each label's true documents
        label = np.repeat(np.arange(len(parts.labels)), parts.false_counts)
        # One row for the false documents of a label that stand at the same place among its true ones.
        most = int(parts.true_counts.max(initial=0)) + 1
        keys, row = np.unique((label * most + parts.lower) * most + parts.ties, return_inverse=True)
        label, lower, ties = keys // most**2, keys // most % most, keys % most
        self._start = self._ends[label]
        self._lower, self._up_to = self._start + lower, self._start + lower + ties
        places = (row, parts.false_documents)
        self._rows = sp.csr_matrix((np.ones(len(row)), places), shape=(len(keys), num_documents))
        places = (label, np.arange(len(keys)))
        self._by_label = sp.csr_matrix((np.ones(len(keys)), places), shape=(len(parts.labels), len(keys)))
        self.areas = self._areas(np.ones((self._number, 1)))[0][:, 0]
        if parts.bins is not None and parts.area is not None:
            self._bins, self._correction = parts.bins.astype(np.float64), 0.0
            self._correction = parts.area - self.micro(np.ones((1, self._number)))[0]

    def _areas(self, columns: Floats) -> tuple[Floats, npt.NDArray[np.bool_]]:
        """Area of each label under weightings (N, B), (K, B), and where it is defined."""
        true = columns[self.parts.true_documents]
        sums = np.concatenate([np.zeros((1, columns.shape[1])), np.cumsum(true, axis=0)])
        beaten = (sums[self._lower] + sums[self._up_to]) / 2 - sums[self._start]
        lost = self._by_label @ ((self._rows @ columns) * beaten)
        num_true = np.diff(sums[self._ends], axis=0)
        pairs = num_true * (columns.sum(axis=0) - num_true)
        return 1 - lost / np.where(pairs > 0, pairs, 1), pairs > 0

    def macro(self, weights: Floats, wanted: npt.NDArray[np.bool_]) -> Floats:
        """Mean area of the wanted labels (of all L) that have both classes, under weightings (B, N); 0 without any."""
        own = wanted[self.parts.labels]
        size = max(1, BLOCK_ELEMENTS // max(1, self._rows.shape[0], len(self.parts.true_documents)))
        found = []
        for start in range(0, len(weights), size):
            areas, defined = self._areas(np.ascontiguousarray(weights[start : start + size].T))
            defined &= own[:, None]
            found.append((areas * defined).sum(axis=0) / defined.sum(axis=0).clip(1))
        return np.concatenate(found)

    def micro(self, weights: Floats) -> Floats:
        """Area over all pairs under weightings (B, N)."""
        true, false = weights @ self._bins
        below = np.cumsum(false, axis=1) - false / 2
        pairs = true.sum(axis=1) * false.sum(axis=1)
        return np.asarray((true * below).sum(axis=1) / np.where(pairs > 0, pairs, 1)) + self._correction
