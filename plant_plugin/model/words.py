"""From tokens to the words that a reader sees: sub-words joined, each word with its place in the text.

Shapes: T tokens, W words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

WORD = re.compile(r"\w+|[^\w\s]")
RUN = re.compile(r"\w+")


@dataclass(frozen=True)
class Words:
    """The words of a text that a model read.

    Attributes:
        spans: (W, 2) int64, first character and the one behind the last.
        of_token: (T,) int64, the word that each token belongs to; -1: none (special tokens, padding).
    """

    spans: npt.NDArray[np.int64]
    of_token: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.spans)

    def summed(self, values: npt.NDArray[np.float32]) -> tuple[npt.NDArray[np.float32], float]:
        """Values of tokens (T,), summed by word (W,), and the sum of those that belong to none."""
        inside = self.of_token >= 0
        summed = np.bincount(self.of_token[inside], weights=values[inside], minlength=len(self))
        return summed.astype(np.float32), float(values[~inside].sum(dtype=np.float64))

    def highest(self, values: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """The highest value (T,), 0 or more, of each word's tokens (W,)."""
        found = np.zeros(len(self), dtype=np.float32)
        inside = self.of_token >= 0
        np.maximum.at(found, self.of_token[inside], values[inside])
        return found


def words_of_tokens(text: str, spans: Sequence[tuple[int, int]]) -> Words:
    r"""Join tokens that begin in the same run of ``\w``; other characters are words by themselves.

    Args:
        text: The document.
        spans: Where each token stands; an empty span belongs to no word.
    """
    starts = np.array([found.start() for found in WORD.finditer(text)], dtype=np.int64)
    of_token = np.full(len(spans), -1, dtype=np.int64)
    begins: list[int] = []
    ends: list[int] = []
    last = -1
    for place, (start, end) in enumerate(spans):
        start += len(text[start:end]) - len(text[start:end].lstrip())  # byte-level tokens hold the space before them
        if start >= end:
            continue
        run = int(np.searchsorted(starts, start, side="right"))
        if run != last or not begins:
            begins.append(start)
            ends.append(end)
            last = run
        ends[-1] = max(ends[-1], end)
        of_token[place] = len(begins) - 1
    return Words(np.array([begins, ends], dtype=np.int64).T.reshape(-1, 2), of_token)


def all_words(text: str, spans: Sequence[tuple[int, int]]) -> Words:
    r"""The runs of ``\w`` of a text, whether a model read them or not: the same words for every model.

    Args:
        text: The document.
        spans: Where each token of the model stands; one that begins in no run belongs to no word.
    """
    runs = np.array([found.span() for found in RUN.finditer(text)], dtype=np.int64).reshape(-1, 2)
    starts = np.array([start + len(text[start:end]) - len(text[start:end].lstrip()) for start, end in spans])
    ends = np.array([end for _, end in spans])
    run = np.searchsorted(runs[:, 0], starts, side="right") - 1
    inside = (run >= 0) & (starts < ends)
    inside[inside] = starts[inside] < runs[run[inside], 1]
    return Words(runs, np.where(inside, run, -1))
