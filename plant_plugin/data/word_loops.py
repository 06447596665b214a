"""The compiled loops of :mod:`plant_plugin.data.word_splitting`; they hold no lock of Python's, so threads share work.

A module of their own, because importing and compiling them takes seconds: import it late.
"""

from __future__ import annotations

import numpy as np
from numba import njit

NO_WORD, NUMBER = 0, 2  # as word_splitting numbers the kinds of characters
FIRST_ROOM = 1 << 13  # distinct words; grows by doubling
OFFSET_BASIS, PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)  # FNV-1a
GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # spreads a word's last characters over the bits that choose a slot


@njit(nogil=True, cache=True)
def split(data, ends, kinds, most):  # type: ignore[no-untyped-def]
    """Cut UTF-8 texts into words and number the distinct ones in the order of their first place.

    Args:
        data: uint8, all texts one after the other.
        ends: int64 (texts + 1,), where each text begins.
        kinds: uint8, what each code point is.
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
        starts, lengths = np.concatenate((starts, starts)), np.concatenate((lengths, lengths))
        keys, room = np.concatenate((keys, keys)), 2 * room


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

    Apart from :func:`split` so that no array is replaced in the loop: each use of such an array would be counted, at
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
