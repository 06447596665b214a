"""What the words of a text stand for: stems of names, by their letters or by a lexicon."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from plant_plugin.relevance.mutual_information import Floats, Small

Lexicon = Mapping[str, Sequence[tuple[str, float]]]  # stem of a text -> stems of names, and the probability of each


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
