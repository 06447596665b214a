"""What documents contribute to the AUCs: enough to compute both on any resample without looking at a score again.

The area of a label is 1 - (false documents above true ones, ties half) / (true × false). A false document matters only
where at least one true one is not above it, so a good ranking leaves few to keep: for each, how many true documents of
the label score lower and how many at most as high. A resample weighs both sides; the area is exact.

The area over all pairs compares each true pair with each false one of any label and document. There, scores are counted
in 256 bins; pairs within a bin count half. As long as true pairs have at most 127 distinct scores, each of these has a
bin of its own and the area is exact. With more the edges are quantiles of them, and what this rounds off the exact area
of all documents is added to every resample's; the rest shrinks with the number of true pairs: a few tenths of what
resamples differ by with some hundred of them, a few hundredths with many thousands.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from plant_plugin.evaluation.score_store import ScoreStore, positives

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
BINS = 256
MOST_PLACES = 3_000_000  # a file of some 10 MB; a ranking that needs more is hardly one
BLOCK_ELEMENTS = 4_000_000  # sums in memory at a time


@dataclass(frozen=True)
class MicroParts:
    """Scores in bins, for the area over all pairs.

    Attributes:
        true_counts: (N, BINS) true pairs of each document in each bin.
        false_counts: (N, BINS) false pairs.
        area: The exact area over all documents.
    """

    true_counts: Integers = field(repr=False)
    false_counts: Integers = field(repr=False)
    area: float


@dataclass(frozen=True)
class RocParts:
    """Of every label with both classes, K of them: its true documents, and the false ones not below all of them.

    Attributes:
        labels: (K,) columns.
        true_documents: Label after label, by ascending score.
        true_counts: (K,) how many of these a label has.
        false_documents: Label after label.
        false_counts: (K,) how many of these a label has.
        lower: Beside ``false_documents``: true documents of the label with a lower score.
        up_to: The same with a lower or the same score; at least 1.
        micro: For the area over all pairs; None where it cannot be had.
    """

    labels: Integers = field(repr=False)
    true_documents: Integers = field(repr=False)
    true_counts: Integers = field(repr=False)
    false_documents: Integers = field(repr=False)
    false_counts: Integers = field(repr=False)
    lower: Integers = field(repr=False)
    up_to: Integers = field(repr=False)
    micro: MicroParts | None = None

    def in_order(self, order: Integers) -> RocParts:
        """The same with document ``order[i]`` called i."""
        new = np.empty_like(order)
        new[order] = np.arange(len(order))
        micro = self.micro
        if micro is not None:
            micro = replace(micro, true_counts=micro.true_counts[order], false_counts=micro.false_counts[order])
        return replace(
            self, true_documents=new[self.true_documents], false_documents=new[self.false_documents], micro=micro
        )

    def renamed(self, new: Integers) -> RocParts:
        """The same with label l called ``new[l]`` among others; the area over all pairs is not known there."""
        return replace(self, labels=new[self.labels], micro=None)

    def with_unranked(self, labels: Integers, truth: sp.csr_matrix) -> RocParts:
        """The same with labels (columns of the truth) that scored every document alike: their area is a half."""
        columns = sp.csc_matrix(truth)
        parts = [self]
        for label in labels:
            true = columns.indices[columns.indptr[label] : columns.indptr[label + 1]].astype(np.int64)
            false = np.setdiff1d(np.arange(truth.shape[0]), true)
            if len(true) and len(false):
                one, zeros = np.array([label]), np.zeros(len(false), dtype=np.int64)
                counts = np.array([len(true)]), np.array([len(false)])
                parts.append(RocParts(one, true, counts[0], false, counts[1], zeros, zeros + len(true)))
        names = ("labels", "true_documents", "true_counts", "false_documents", "false_counts", "lower", "up_to")
        return RocParts(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in names}, micro=None)


def roc_parts(store: ScoreStore, area: float) -> RocParts | None:
    """The parts of all scores of a split, or None where there would be too many.

    Args:
        store: Every score of the split.
        area: The exact area over all pairs; NaN where there is none.
    """
    truth = store.truth()
    labels: list[int] = []
    lists: dict[str, list[Integers]] = {"true": [], "false": [], "lower": [], "up_to": []}
    places = 0
    for start, block in store.blocks():
        for place, own in positives(truth, block, start):
            if len(own) == store.num_documents:
                continue
            documents = truth.indices[truth.indptr[start + place] : truth.indptr[start + place + 1]]
            order = np.argsort(own, kind="stable")
            lower, up_to = (np.searchsorted(own[order], block[place], side=side) for side in ("left", "right"))
            is_false = up_to > 0
            is_false[documents] = False
            false = np.flatnonzero(is_false)
            labels.append(start + place)
            for name, found in (("true", documents[order]), ("false", false), ("lower", lower), ("up_to", up_to)):
                lists[name].append((found[false] if name in ("lower", "up_to") else found).astype(np.int64))
            places += len(false)
            if places > MOST_PLACES:
                return None

    def joined(name: str) -> Integers:
        return np.concatenate([*lists[name], np.empty(0, dtype=np.int64)])

    true_counts, false_counts = (
        np.array([len(found) for found in lists[name]], np.int64) for name in ("true", "false")
    )
    return RocParts(
        np.array(labels, dtype=np.int64), joined("true"), true_counts, joined("false"), false_counts,
        joined("lower"), joined("up_to"), None if np.isnan(area) else _micro(store, area),
    )  # fmt: skip


def _micro(store: ScoreStore, area: float) -> MicroParts:
    truth = store.truth()
    true_scores = [found for start, block in store.blocks() for _, found in positives(truth, block, start)]
    distinct = np.unique(np.concatenate(true_scores))
    if 2 * len(distinct) < BINS:  # below each, at it, above the last
        edges = np.concatenate([distinct, np.nextafter(distinct, np.inf, dtype=distinct.dtype)])
        edges = np.unique(edges)
    else:
        edges = np.unique(np.quantile(np.concatenate(true_scores), np.linspace(0, 1, BINS)[1:-1], method="lower"))
    true, every = (np.zeros((store.num_documents, BINS), dtype=np.int64) for _ in range(2))
    for start, block in store.blocks():
        bins = np.searchsorted(edges, block, side="right")
        for place, row in enumerate(bins):
            every[np.arange(len(row)), row] += 1
            documents = truth.indices[truth.indptr[start + place] : truth.indptr[start + place + 1]]
            true[documents, row[documents]] += 1
    return MicroParts(true, every - true, area)


class RocSums:
    """The AUCs of one result, ready to be computed under any weighting of its documents."""

    def __init__(self, parts: RocParts, num_documents: int) -> None:
        self.parts, self._number = parts, num_documents
        starts = np.concatenate([[0], np.cumsum(parts.true_counts)])[:-1]
        label = np.repeat(np.arange(len(parts.labels)), parts.false_counts)
        # One row for the false documents of a label that stand at the same place among its true ones.
        most = int(parts.true_counts.max(initial=0)) + 1
        keys, row_of = np.unique((label * most + parts.lower) * most + parts.up_to, return_inverse=True)
        ones = np.ones(len(label))
        self._rows = sp.csr_matrix((ones, (row_of, parts.false_documents)), shape=(len(keys), num_documents))
        self._row_start = starts[keys // most**2]
        self._lower, self._up_to = self._row_start + keys // most % most, self._row_start + keys % most
        self._starts, labels = starts, (keys // most**2, np.arange(len(keys)))
        self._by_label = sp.csr_matrix((np.ones(len(keys)), labels), shape=(len(parts.labels), len(keys)))
        self.areas = self._areas(np.ones((self._number, 1)))[0][:, 0]
        if parts.micro is not None:
            self._true_binned = parts.micro.true_counts.astype(np.float64)
            self._false_binned = parts.micro.false_counts.astype(np.float64)
            self._correction = parts.micro.area - self._binned(np.ones((1, self._number)))[0]

    def _areas(self, columns: Floats) -> tuple[Floats, npt.NDArray[np.bool_]]:
        """Area of each label under weightings (N, B), (K, B), and where it is defined."""
        parts = self.parts
        true = columns[parts.true_documents]
        sums = np.concatenate([np.zeros((1, columns.shape[1])), np.cumsum(true, axis=0)])
        beaten = (sums[self._lower] + sums[self._up_to]) / 2 - sums[self._row_start]
        lost = self._by_label @ ((self._rows @ columns) * beaten)
        num_true = sums[self._starts + parts.true_counts] - sums[self._starts]
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
        return self._binned(weights) + self._correction

    def _binned(self, weights: Floats) -> Floats:
        true, false = weights @ self._true_binned, weights @ self._false_binned
        below = np.cumsum(false, axis=1) - false / 2
        pairs = true.sum(axis=1) * false.sum(axis=1)
        return np.asarray((true * below).sum(axis=1) / np.where(pairs > 0, pairs, 1))

    def macro_column(self, wanted: npt.NDArray[np.bool_]) -> tuple[Floats, Floats]:
        """What each document adds above and below the line of AUC-macro with the false documents as they are, (N,)."""
        parts, above, below = self.parts, np.zeros(self._number), np.zeros(self._number)
        sizes = np.asarray(self._rows.sum(axis=1)).ravel()
        # Of each true document: the false ones above it, a tie half; from differences over the places in its label.
        lost = np.zeros(len(parts.true_documents) + 1)
        for ends in (self._lower, self._up_to):
            np.add.at(lost, self._row_start, sizes / 2)
            np.add.at(lost, ends, -sizes / 2)
        above_each = np.cumsum(lost)[:-1]
        label = np.repeat(np.arange(len(parts.labels)), parts.true_counts)
        num_true = parts.true_counts[label]
        own = wanted[parts.labels][label]
        np.add.at(above, parts.true_documents, own * (1 - above_each / (self._number - num_true)) / num_true)
        np.add.at(below, parts.true_documents, own / num_true)
        return above, below

    def micro_column(self) -> tuple[Floats, Floats]:
        """The same of AUC-micro."""
        false = self._false_binned.sum(axis=0)
        placed = (np.cumsum(false) - false / 2) / max(1.0, false.sum()) + self._correction
        return self._true_binned @ placed, self._true_binned.sum(axis=1)


def stored(parts: RocParts) -> dict[str, npt.NDArray[Any]]:
    """As arrays for a file, small."""

    def small(values: Integers) -> npt.NDArray[Any]:
        fits = not len(values) or values.max() <= np.iinfo(np.uint16).max
        return values.astype(np.uint16 if fits else np.uint32)

    found = {
        f"roc_{name}": small(getattr(parts, name))
        for name in ("labels", "true_documents", "true_counts", "false_documents", "false_counts", "lower")
    }
    found["roc_ties"] = small(parts.up_to - parts.lower)
    if parts.micro is not None:
        found["roc_true_bins"] = small(parts.micro.true_counts)
        found["roc_false_bins"] = small(parts.micro.false_counts)
        found["roc_area"] = np.array(parts.micro.area)
    return found


def restored(arrays: Mapping[str, npt.NDArray[Any]]) -> RocParts | None:
    """What :func:`stored` made, or None where a file holds none."""
    if "roc_labels" not in arrays:
        return None
    names = ("labels", "true_documents", "true_counts", "false_documents", "false_counts", "lower")
    wide = {name: arrays[f"roc_{name}"].astype(np.int64) for name in names}
    micro = None
    if "roc_area" in arrays:
        true, false = (arrays[name].astype(np.int64) for name in ("roc_true_bins", "roc_false_bins"))
        micro = MicroParts(true, false, float(arrays["roc_area"]))
    return RocParts(**wide, up_to=wide["lower"] + arrays["roc_ties"].astype(np.int64), micro=micro)
