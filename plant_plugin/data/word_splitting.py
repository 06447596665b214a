r"""Texts cut into words: the runs of ``\w`` of LibMultiLabel's tokenizer, without pure numbers.

Each distinct word of a run of texts is made a string once; the words of the texts are numbers into that list. Compiled
loops do this, which hold no lock of Python's, so that threads share the work. Compiling them takes seconds, so that
short texts go the plain way, to the same words.
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
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

PART_BYTES = 2**23  # of texts cut at once by a thread; their words take about as much
SHORT = 2**20  # characters of all texts together that go the plain way
MAX_WORKERS = 8
NO_WORD, WORD, NUMBER = 0, 1, 2  # what a character is; a run of numbers alone is no word
CODE_POINTS = 0x110000
FIRST_ROOM = 1 << 13  # distinct words; grows by doubling
OFFSET_BASIS, PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)  # FNV-1a
GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # spreads a word's last characters over the bits that choose a slot


class WordNumbers(NamedTuple):
    """Words of some texts, one text after the other.

    Attributes:
        words: The distinct words as they stand in the texts, upper case and all.
        numbers: int32, places in ``words``.
        offsets: int64 (texts + 1,), where each text begins in ``numbers``.
    """

    words: list[str]
    numbers: npt.NDArray[np.int32]
    offsets: npt.NDArray[np.int64]


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
    joined = b"".join(texts)
    ends = np.cumsum([0, *map(len, texts)], dtype=np.int64)
    kinds = _ascii_kinds() if joined.isascii() else _kinds()
    starts, lengths, numbers, offsets = _split(np.frombuffer(joined, np.uint8), ends, kinds, most)
    places = zip(starts.tolist(), (starts + lengths).tolist(), strict=True)
    words = [joined[start:stop].decode("utf-8", "surrogatepass") for start, stop in places]
    return WordNumbers(words, numbers, offsets)


def _runs(text: str) -> Iterator[Any]:
    r"""The matches of ``\w+``, as nltk finds them."""
    found: Iterator[Any] = (re.finditer if text.isascii() else _finditer())(r"\w+", text)
    return found


@cache
def _finditer() -> Callable[[str, str], Iterator[Any]]:
    r"""Of the module by which nltk finds words, as LibMultiLabel lets it; nltk itself takes a second to import.

    Newer ones have a module ``redos`` and use ``regex``, for which ² is no part of a word and a combining mark is.
    """
    nltk = find_spec("nltk")
    folders = [] if nltk is None else nltk.submodule_search_locations or []
    if any((Path(folder) / "redos.py").is_file() for folder in folders):
        import regex  # type: ignore[import-untyped]

        finditer: Callable[[str, str], Iterator[Any]] = regex.finditer
        return finditer
    return re.finditer


@cache
def _kinds() -> npt.NDArray[np.uint8]:
    r"""What each character is, by code point.

    Whether a character belongs to a word does not depend on its neighbours, so that it is asked once about all of them.
    """
    everything = "".join(map(chr, range(CODE_POINTS)))
    kinds = np.zeros(CODE_POINTS, dtype=np.uint8)
    for found in _runs(everything):
        start, stop = found.span()
        kinds[start:stop] = [NUMBER if character.isnumeric() else WORD for character in everything[start:stop]]
    return kinds


@cache
def _ascii_kinds() -> npt.NDArray[np.uint8]:
    """The same for plain texts, for which nobody has to be asked."""
    return np.array([_ascii_kind(chr(code)) for code in range(128)], dtype=np.uint8)


def _ascii_kind(character: str) -> int:
    if character.isnumeric():
        return NUMBER
    return WORD if character.isalpha() or character == "_" else NO_WORD


@njit(nogil=True, cache=True)
def _split(data, ends, kinds, most):  # type: ignore[no-untyped-def]
    """Cut UTF-8 texts into words and number the distinct ones in the order of their first place.

    Args:
        data: uint8, all texts one after the other.
        ends: int64 (texts + 1,), where each text begins.
        kinds: What each code point is.
        most: Words kept of each text.

    Returns:
        First place and length in bytes of each distinct word; the numbers of all words; where each text begins there.
    """
    numbers = np.empty((len(data) + len(ends)) // 2 + 1, np.int32)  # two words of a text never touch
    offsets = np.zeros(len(ends), np.int64)
    room, text, known = FIRST_ROOM, 0, 0
    starts, lengths, keys = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.uint64)
    while True:
        slots = np.full(2 * room, -1, np.int32)
        for number in range(known):
            slots[_free_slot(slots, keys[number])] = number
        text, known = _split_while_room(
            data, ends, kinds, most, slots, starts, lengths, keys, numbers, offsets, text, known
        )
        if text == len(ends) - 1:
            return starts[:known], lengths[:known], numbers[: offsets[text]].copy(), offsets
        starts, lengths, keys = (
            np.concatenate((starts, starts)),
            np.concatenate((lengths, lengths)),
            np.concatenate((keys, keys)),
        )
        room *= 2


@njit(nogil=True, cache=True)
def _free_slot(slots, key):  # type: ignore[no-untyped-def]
    slot = np.int64((key * GOLDEN) >> np.uint64(32)) & (len(slots) - 1)
    while slots[slot] >= 0:
        slot = (slot + 1) & (len(slots) - 1)
    return slot


@njit(nogil=True, cache=True)
def _split_while_room(  # type: ignore[no-untyped-def]
    data, ends, kinds, most, slots, starts, lengths, keys, numbers, offsets, text, known
):
    """Go on from ``text`` until all is cut or no further distinct word has room; the text it stopped in is not cut.

    Apart from :func:`_split` so that no array is replaced in the loop: each use of such an array would be counted, at
    six times the price of everything else.
    """
    while text < len(ends) - 1:
        position, stop = ends[text], ends[text + 1]
        place = offsets[text]
        last = min(most, stop - position) + place
        while position < stop and place < last:
            start, width, only_numbers, key = position, 1, True, OFFSET_BASIS
            while position < stop:
                code = np.int64(data[position])
                width = 1
                if code >= 0xF0:
                    width = 4
                    code = (code & 0x07) << 18 | (data[position + 1] & 0x3F) << 12
                    code |= (data[position + 2] & 0x3F) << 6 | (data[position + 3] & 0x3F)
                elif code >= 0xE0:
                    width = 3
                    code = (code & 0x0F) << 12 | (data[position + 1] & 0x3F) << 6 | (data[position + 2] & 0x3F)
                elif code >= 0x80:
                    width = 2
                    code = (code & 0x1F) << 6 | (data[position + 1] & 0x3F)
                kind = kinds[code]
                if kind == NO_WORD:
                    break
                only_numbers &= kind == NUMBER
                key = (key ^ np.uint64(code)) * PRIME
                position += width
            length = position - start
            if length == 0:
                position += width
            if only_numbers:  # also where there is nothing
                continue
            slot = np.int64((key * GOLDEN) >> np.uint64(32)) & (len(slots) - 1)
            while slots[slot] >= 0:
                number = slots[slot]
                if keys[number] == key and lengths[number] == length:
                    other, same = starts[number], 0
                    while same < length and data[other + same] == data[start + same]:
                        same += 1
                    if same == length:
                        break
                slot = (slot + 1) & (len(slots) - 1)
            if slots[slot] < 0:
                if known == len(starts):
                    return text, known
                starts[known], lengths[known], keys[known] = start, length, key
                slots[slot] = known
                known += 1
            numbers[place] = slots[slot]
            place += 1
        text += 1
        offsets[text] = place
    return text, known


@njit(nogil=True, cache=True)
def documents_with(numbers, offsets, merged, size):  # type: ignore[no-untyped-def]
    """In how many texts each word stands.

    Args:
        numbers: int32, words of all texts.
        offsets: int64 (texts + 1,), where each text begins.
        merged: int32, what each number counts as (words that differ in case count as one).
        size: How many different ones there are.

    Returns:
        int64 (size,).
    """
    found, last = np.zeros(size, np.int64), np.full(size, -1, np.int64)
    for text in range(len(offsets) - 1):
        for place in range(offsets[text], offsets[text + 1]):
            word = merged[numbers[place]]
            if last[word] != text:
                last[word] = text
                found[word] += 1
    return found
