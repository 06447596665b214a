"""A lexicon of stems, learned from pairs of texts that mean the same, and what it says of the words of a text.

The pairs are names in two languages, and marked words and names.

Source: Brown et al. 1993, "The Mathematics of Statistical Machine Translation", model 1, by expectation maximisation.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from plant_plugin.relevance.mutual_information import Floats, Small

ROUNDS = 6
LEAST = 0.05  # probability of a translation that is kept
SEEN = 0.5  # times, at least, that it is expected to have been seen
Lexicon = Mapping[str, Sequence[tuple[str, float]]]  # stem of a text -> stems of names, and the probability of each


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


class Translated(dict[str, tuple[Small, Floats]]):
    """Word of a text -> stems of names that it may be, and how sure that is; read of the lexicon when it is asked."""

    def __init__(self, stems: Mapping[str, int], lexicon: Lexicon) -> None:
        super().__init__()
        self.stems, self.lexicon = stems, lexicon

    def __missing__(self, word: str) -> tuple[Small, Floats]:
        sure: dict[int, float] = {self.stems[word]: 1.0} if word in self.stems else {}
        for stem, probability in self.lexicon.get(word, ()):
            if (column := self.stems.get(stem)) is not None:
                sure[column] = max(sure.get(column, 0.0), probability)
        entry = np.fromiter(sure, np.int32, len(sure)), np.fromiter(sure.values(), np.float32, len(sure))
        self[word] = entry
        return entry
