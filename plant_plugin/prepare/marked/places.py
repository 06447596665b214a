"""Where the words of a mark are, when its source counted characters in another way or the text was shifted since."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import accumulate, product

from plant_plugin.data.text import Spans
from plant_plugin.data.words import UNSPACED
from plant_plugin.prepare.marked.marked import covers

REACH = 100  # characters, within which words are looked for again
TAG = re.compile(r"<[^<>]*>|&#?\w+;")  # of HTML; the second is one character


class Counting:
    """A way to count the characters of a text, by how many each is."""

    def __init__(self, widths: Sequence[int]) -> None:
        self._places = [0, *accumulate(widths)]

    def moved(self, spans: Spans) -> Spans | None:
        """Spans that were counted so, in characters of the text; None: some are not inside it."""
        if any(not 0 <= start <= end <= self._places[-1] for start, end in spans):
            return None
        return [(bisect_right(self._places, start) - 1, bisect_left(self._places, end)) for start, end in spans]


class Places:
    """The places of a text and of the marks in it."""

    def __init__(self, text: str) -> None:
        self.text = text

    def hold(self, spans: Spans, words: str | None = None) -> bool:
        """Tell whether spans are inside the text and hold the words."""
        if any(not 0 <= start <= end <= len(self.text) for start, end in spans):
            return False
        return words is None or covers(self.text, spans, words)

    def whole_words(self, spans: Spans) -> bool:
        """Tell whether each span begins with the first and ends with the last character of a word, or punctuation."""
        return all(
            0 <= start < end <= len(self.text)
            and not (self.text[start].isspace() or self.text[end - 1].isspace())
            and not (self._inside_word(start) or self._inside_word(end))
            for start, end in spans
        )

    def counted_otherwise(self, spans: Spans, words: str) -> Spans | None:
        """Find the words by counting as other tools do: in UTF-16, with line ends as one, in bytes, without tags."""
        moved = (counting.moved(spans) for counting in (*self._countings, *self._surer_countings))
        return next((there for there in moved if there is not None and self.hold(there, words)), None)

    def counted_by_word_ends(self, marks: list[Spans]) -> tuple[list[Spans], bool]:
        """Find how marks without words were counted: so that they hold whole words.

        Returns:
            The marks as they were meant, and whether that is in doubt: two ways to count differ, and neither fits.
        """
        if all(map(self.whole_words, marks)):
            return marks, False
        countings = (*self._countings, *self._surer_countings)
        ways = [[counting.moved(spans) or spans for spans in marks] for counting in countings]
        fitting = [sum(map(self.whole_words, way)) for way in ways]
        if max(fitting) == len(marks):
            return ways[fitting.index(len(marks))], False
        differ = any(way != ways[0] for way in ways[: len(self._countings)])
        return ways[0], differ and 2 * fitting[0] <= len(marks)

    def nearby(self, spans: Spans, words: str) -> Spans | None:
        """Find the words of a mark again, each part for itself; None: they are not near, or twice equally near."""
        parts = [words]
        if len(spans) > 1:  # what brat writes: the parts with a space between
            lengths = [end - start for start, end in spans]
            if sum(lengths) + len(lengths) - 1 != len(words):
                return None
            starts = accumulate([0, *(length + 1 for length in lengths[:-1])])
            parts = [words[at : at + length] for at, length in zip(starts, lengths, strict=True)]
        there = [self._nearest(start, part) for (start, _), part in zip(spans, parts, strict=True)]
        places = [span for span in there if span is not None]
        return places if len(places) == len(spans) else None

    def _nearest(self, start: int, words: str) -> tuple[int, int] | None:
        for pieces, gap in ((words.split(), r"\s+"), (re.findall(r"[^\W_]+", words), r"[\W_]+")):
            if not pieces:
                return None
            pattern = re.compile(gap.join(map(re.escape, pieces)))
            first = max(start - REACH, 0)
            spans = [match.span() for match in pattern.finditer(self.text, first, start + REACH + 2 * len(words))]
            # What is a part of longer words comes last.
            near = sorted((REACH * (not self.whole_words([span])) + abs(span[0] - start), span) for span in spans)
            if near and not (len(near) > 1 and near[0][0] == near[1][0]):
                return near[0][1]
        return None

    def _inside_word(self, place: int) -> bool:
        if not 0 < place < len(self.text):
            return False
        before, after = self.text[place - 1], self.text[place]
        if unicodedata.combining(after):
            return True
        return before.isalnum() and after.isalnum() and not UNSPACED.search(before + after)

    @cached_property
    def _countings(self) -> list[Counting]:
        """Ways to count that differ only in a few texts; the first is by characters."""
        return list(self._ways((1, 0) if "\r\n" in self.text else (1,), 1))

    @cached_property
    def _surer_countings(self) -> list[Counting]:
        """Ways that differ in nearly every text, so that a mark has to fit them to make them likely."""
        ways = list(self._ways((1,), 2)) if "\n" in self.text else []
        if not self.text.isascii():
            ways.append(Counting([len(character.encode()) for character in self.text]))
        if tags := list(TAG.finditer(self.text)):
            widths = [1] * len(self.text)
            for tag in tags:
                first = int(tag[0].startswith("&"))
                widths[tag.start() : tag.end()] = [first, *[0] * (len(tag[0]) - 1)]
            ways.append(Counting(widths))
        return ways

    def _ways(self, returns: tuple[int, ...], line_end: int) -> Iterator[Counting]:
        """Ways to count, ``returns``: how many the first character of CRLF is; ``line_end``: how many another end."""
        beyond = (1, 2) if any(character > "\uffff" for character in self.text) else (1,)
        order_marks = (1, 0) if self.text.startswith("\ufeff") else (1,)
        for crlf, wide, order_mark in sorted(product(returns, beyond, order_marks), key=lambda way: way != (1, 1, 1)):
            widths = [wide if character > "\uffff" else 1 for character in self.text]
            for match in re.finditer(r"\r\n|\n", self.text):
                widths[match.start()] = crlf if len(match[0]) > 1 else line_end
            widths[:1] = [order_mark] if self.text.startswith("\ufeff") else widths[:1]
            yield Counting(widths)
