"""A lexicon of stems, learned from pairs of texts that mean the same: names in two languages, marked words and names.

Source: Brown et al. 1993, "The Mathematics of Statistical Machine Translation", model 1, by expectation maximisation.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

ROUNDS = 6
LEAST = 0.05  # probability of a translation that is kept
SEEN = 0.5  # times, at least, that it is expected to have been seen


def learn_lexicon(pairs: Sequence[tuple[Sequence[str], Sequence[str]]]) -> dict[str, list[tuple[str, float]]]:
    """Return stem -> the stems that it stands for in the second texts, with the probability of each.

    ``pairs`` are of stems; a stem of the second that nothing explains falls to one that every first text has.
    """
    sources: dict[str, int] = {}
    targets: dict[str, int] = {}
    first = [sorted({sources.setdefault(stem, len(sources)) for stem in stems}) for stems, _ in pairs]
    second = [sorted({targets.setdefault(stem, len(targets)) for stem in stems}) for _, stems in pairs]
    nothing = len(sources)
    rows, columns, slots, ends = [], [], [], 0
    for source, target in zip(first, second, strict=True):
        rows.append(np.repeat([*source, nothing], len(target)))
        columns.append(np.tile(target, len(source) + 1))
        slots.append(np.tile(np.arange(ends, ends + len(target)), len(source) + 1))
        ends += len(target)
    if not ends:
        return {}
    keys, place = np.unique(
        np.concatenate(rows).astype(np.int64) * len(targets) + np.concatenate(columns).astype(np.int64),
        return_inverse=True,
    )
    slot, row, column = np.concatenate(slots), keys // len(targets), keys % len(targets)
    probability = 1 / np.bincount(row, minlength=nothing + 1)[row]
    for _ in range(ROUNDS):
        share = probability[place]
        share = share / np.bincount(slot, share, minlength=ends)[slot]
        expected = np.bincount(place, share, minlength=len(keys))
        probability = expected / np.bincount(row, expected, minlength=nothing + 1)[row]
    names_of_source, names_of_target = list(sources), list(targets)
    lexicon: defaultdict[str, list[tuple[str, float]]] = defaultdict(list)
    for entry in np.flatnonzero((probability >= LEAST) & (expected >= SEEN) & (row != nothing)).tolist():
        lexicon[names_of_source[row[entry]]].append((names_of_target[column[entry]], float(probability[entry])))
    return dict(lexicon)
