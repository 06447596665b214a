r"""Texts cut into words: the runs of ``\w`` of LibMultiLabel's tokenizer, without pure numbers.

Each distinct word of a run of texts is made a string once; the words of the texts are numbers into that list. Long
texts are cut by the compiled loops of :mod:`plant_plugin.data.word_loops`, in threads. To import and compile these
takes seconds, so that short texts go the plain way, to the same words.
"""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from importlib.util import find_spec
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

PART_BYTES = 2**23  # of texts cut at once by a thread; their words take about as much
SHORT = 2**20  # characters of all texts together that go the plain way
MAX_WORKERS = 8
NO_WORD, WORD, NUMBER = 0, 1, 2  # what a character is; a run of numbers alone is no word
ASCII, CODE_POINTS = 0x80, 0x110000


class WordNumbers(NamedTuple):
    """Words of some texts, one text after the other."""

    words: list[str]  # the distinct ones as they stand in the texts, upper case and all
    numbers: npt.NDArray[np.int32]  # places in words
    offsets: npt.NDArray[np.int64]  # (texts + 1,), where each text begins in numbers


def split_words(texts: Iterable[str], most: int | None = None) -> Iterator[WordNumbers]:
    """The words of all texts, a few megabytes of text at a time, in order.

    Args:
        texts: Read once, a little ahead of what is handed out.
        most: Words kept of each text, the first ones; None: all.
    """
    start: list[str] = []
    texts, size = iter(texts), 0
    for text in texts:
        start.append(text)
        size += len(text)
        if size > SHORT:
            yield from _split_long(chain(start, texts), most)
            return
    if start:
        yield _split_short(start, most)


def _split_short(texts: list[str], most: int | None) -> WordNumbers:
    place_of: dict[str, int] = {}
    numbers: list[int] = []
    offsets = [0]
    for text in texts:
        words = (found.group() for found in _runs(text))
        kept = islice((word for word in words if not word.isnumeric()), most)
        numbers += [place_of.setdefault(word, len(place_of)) for word in kept]
        offsets.append(len(numbers))
    return WordNumbers(list(place_of), np.array(numbers, dtype=np.int32), np.array(offsets, dtype=np.int64))


def _split_long(texts: Iterable[str], most: int | None) -> Iterator[WordNumbers]:
    limit = np.iinfo(np.int64).max if most is None else most
    workers = min(os.cpu_count() or 1, MAX_WORKERS)
    waiting: deque[Future[WordNumbers]] = deque()
    with ThreadPoolExecutor(workers) as pool:
        for part in _parts(texts):
            waiting.append(pool.submit(_split_part, part, limit))
            if len(waiting) > workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _parts(texts: Iterable[str]) -> Iterator[list[bytes]]:
    part: list[bytes] = []
    size = 0
    for text in texts:
        part.append(text.encode("utf-8", "surrogatepass"))
        size += len(part[-1])
        if size >= PART_BYTES:
            yield part
            part, size = [], 0
    if part:
        yield part


def _split_part(texts: list[bytes], most: int) -> WordNumbers:
    from plant_plugin.data.word_loops import split  # imports numba

    joined = b"".join(texts)
    ends = np.cumsum([0, *map(len, texts)], dtype=np.int64)
    kinds = _kinds(ASCII if joined.isascii() else CODE_POINTS)
    starts, lengths, numbers, offsets = split(np.frombuffer(joined, np.uint8), ends, kinds, most)
    places = zip(starts.tolist(), (starts + lengths).tolist(), strict=True)
    words = [joined[start:stop].decode("utf-8", "surrogatepass") for start, stop in places]
    return WordNumbers(words, numbers, offsets)


def _runs(text: str) -> Iterator[re.Match[str]]:
    r"""The matches of ``\w+``, as nltk finds them."""
    return (re.finditer if text.isascii() else _finditer())(r"\w+", text)


@cache
def _finditer() -> Callable[[str, str], Iterator[re.Match[str]]]:
    """Of the module by which nltk finds words, as LibMultiLabel lets it; nltk itself takes a second to import.

    Newer ones have a module ``redos`` and use ``regex``, for which ² is no part of a word and a combining mark is.
    """
    nltk = find_spec("nltk")
    folders = [] if nltk is None else nltk.submodule_search_locations or []
    if not any((Path(folder) / "redos.py").is_file() for folder in folders):
        return re.finditer
    import regex  # type: ignore[import-untyped]

    finditer: Callable[[str, str], Iterator[re.Match[str]]] = regex.finditer
    return finditer


@cache
def _kinds(code_points: int) -> npt.NDArray[np.uint8]:
    """What each of the first characters is, by code point, whatever stands beside it."""
    everything = "".join(map(chr, range(code_points)))
    kinds = np.zeros(code_points, dtype=np.uint8)
    for found in _runs(everything):
        start, stop = found.span()
        kinds[start:stop] = [NUMBER if character.isnumeric() else WORD for character in everything[start:stop]]
    return kinds
