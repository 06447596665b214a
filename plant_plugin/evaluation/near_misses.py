"""How far off wrong labels are: metrics of the groups that labels belong to, and which groups of a wrong one are right.

A *level* puts each label into groups, e.g. codes into their categories; the next level's groups are wider. A group has
the highest score of its labels, so it is predicted where one of them is; it is true where one of them is.

Shapes: N documents, L labels, G groups of a level.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from typing_extensions import TypedDict

from plant_plugin.evaluation.metrics import Evaluator
from plant_plugin.evaluation.names import RANKS
from plant_plugin.evaluation.ranking import blocks
from plant_plugin.evaluation.store import Matrix, checked, dense_blocks, without

FAMILIES = ("Micro-P", "Micro-R", "Micro-F1", "Macro-F1", "Macro-F1-present")
ELSEWHERE = "elsewhere"  # no level's group is right


class Level(NamedTuple):
    """Groups of labels.

    Attributes:
        name: E.g. ``category``.
        groups: Names of G groups; each has a label.
        member: 1 (L, G) where a label belongs to a group; every label belongs to one.
    """

    name: str
    groups: Sequence[str]
    member: sp.csr_matrix


class OfLevel(TypedDict):
    """The groups of a level, measured as labels are."""

    groups: int
    metrics: dict[str, float]  # by the names that they have for labels


class Distance(TypedDict):
    """Pairs of document and label that are wrong, or missed, at a threshold."""

    pairs: int
    shares: dict[str, float]  # by the first level with a group that is right, or ``elsewhere``; empty without pairs


class NearMisses(TypedDict):
    """What ``near_misses`` of a result holds."""

    levels: dict[str, OfLevel]
    wrong: dict[str, Distance]  # of each threshold: predicted labels that are not true, by their true neighbours
    missed: dict[str, Distance]  # true labels that are not predicted, by their predicted neighbours


def near_misses(
    scores: Matrix,
    truth: Matrix,
    levels: Sequence[Level],
    thresholds: Mapping[str, float],
    removed: sp.csr_matrix | None = None,
) -> NearMisses:
    """Measure groups, and how far off wrong and missed labels are.

    Args:
        scores: (N, L); what is -inf, or not stored in a sparse matrix, is not scored.
        truth: 0/1 (N, L).
        levels: From the narrowest groups to the widest.
        thresholds: In the unit of the scores; a label is predicted above one.
        removed: Pairs (N, L) that count neither way.
    """
    evaluators = [Evaluator(len(level.groups), metrics=_metrics(level, thresholds), thresholds=thresholds)
                  for level in levels]  # fmt: skip
    kinds = ("wrong", "missed")
    counts = {(kind, name): np.zeros(len(levels) + 1, np.int64) for kind in kinds for name in thresholds}
    for block, true in _blocks(scores, truth, removed):
        for level, evaluator in zip(levels, evaluators, strict=True):
            evaluator.update(_highest(block, level.member), true @ level.member)
        for name, threshold in thresholds.items():
            predicted = sp.csr_matrix(block > np.float32(threshold), dtype=np.float32)
            counts["wrong", name] += _distances(predicted - predicted.multiply(true), true, levels)
            counts["missed", name] += _distances(true - true.multiply(predicted), predicted, levels)
    wrong, missed = ({name: _distance(counts[kind, name], levels) for name in thresholds} for kind in kinds)
    measured = {
        level.name: OfLevel(groups=len(level.groups), metrics=evaluator.compute())
        for level, evaluator in zip(levels, evaluators, strict=True)
    }
    return NearMisses(levels=measured, wrong=wrong, missed=missed)


def _metrics(level: Level, thresholds: Mapping[str, float]) -> list[str]:
    ranked = [f"P@{k}" for k in RANKS if k <= len(level.groups)]
    return ranked + [f"{family}@{name}" for name in thresholds for family in FAMILIES]


def _blocks(
    scores: Matrix, truth: Matrix, removed: sp.csr_matrix | None
) -> Iterator[tuple[npt.NDArray[np.float32], sp.csr_matrix]]:
    """Yield dense scores and truth of some documents at a time."""
    for rows in blocks(*scores.shape):
        part, true = checked(scores[rows], truth[rows])
        if removed is not None:
            part, true = without(part, true, removed[rows])
        [block] = dense_blocks(part)
        yield block, true


def _highest(scores: npt.NDArray[np.float32], member: sp.csr_matrix) -> npt.NDArray[np.float32]:
    """Return the highest score (B, G) of the labels of each group."""
    by_group = sp.csc_matrix(member)
    return np.maximum.reduceat(scores[:, by_group.indices], by_group.indptr[:-1], axis=1)


def _distances(pairs: sp.csr_matrix, others: sp.csr_matrix, levels: Sequence[Level]) -> npt.NDArray[np.int64]:
    """Count pairs by the first level at which one of the others of the document is in a group of theirs, and the rest.

    ``pairs`` and ``others`` are 0/1 (B, L).
    """
    found = [pairs.multiply((others @ level.member @ level.member.T) > 0).nonzero() for level in levels]
    first = np.full(pairs.shape, len(levels), np.int8)
    for place in reversed(range(len(levels))):
        first[found[place]] = place
    return np.bincount(first[pairs.nonzero()], minlength=len(levels) + 1)


def _distance(counts: npt.NDArray[np.int64], levels: Sequence[Level]) -> Distance:
    number = int(counts.sum())
    names = [*(level.name for level in levels), ELSEWHERE]
    shares = {name: float(count / number) for name, count in zip(names, counts, strict=True)} if number else {}
    return Distance(pairs=number, shares=shares)
