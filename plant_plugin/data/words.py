"""What a word is: a run of letters and, of scripts that put no spaces between words, what a splitter makes of them.

Those are Chinese, Japanese, Thai, Lao, Khmer, Burmese and their neighbours. The splitter is chosen once, by the texts
of training, and kept with whatever learns from them. By ``characters`` each letter of such a script is a word, with the
vowels and tones on it; another name is that of a function in an installed package, see :func:`words_by`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from importlib.metadata import entry_points
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt

from plant_plugin.data.text import Spans
from plant_plugin.errors import ConfigError, suggestion

Places = npt.NDArray[np.int64]

GROUP = "plant_plugin.word_splitters"  # of entry points: each a function that returns the words of a text
CHARACTERS = "characters"
SAMPLE = 200  # texts that are looked at
SHARE = 0.2  # of the letters that are of such a script, from which on it matters
STRETCH = 6  # such letters and marks without a space that are more than a word
# Thai and Lao, Burmese, Khmer, Tai Le and New Tai Lue, Tai Tham, Javanese and more Burmese, Tai Viet.
ALPHABETS = ((0xE00, 0xEFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x1950, 0x19DF), (0x1A20, 0x1AAF), (0xA980, 0xA9FF),
             (0xAA60, 0xAADF))  # fmt: skip
# Repetition marks, kana, Chinese characters and halfwidth kana: letters, all of them.
IDEOGRAPHS = "\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\u3400-\u4dbf"
IDEOGRAPHS += "\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"


def _of_alphabets(category: str) -> str:
    codes = (code for first, last in ALPHABETS for code in range(first, last + 1))
    return "".join(character for character in map(chr, codes) if unicodedata.category(character)[0] == category)


LETTERS = _of_alphabets("L") + IDEOGRAPHS  # as the inside of a pattern's brackets, like the next ones
MARKS = _of_alphabets("M") + "\u3099\u309a\ufe00-\ufe0f\U000e0100-\U000e01ef"  # on the letter before them
RUN = re.compile(r"\w+")
RUN_OR_SIGN = re.compile(r"\w+|[^\w\s]")
LETTER = re.compile(f"[{LETTERS}][{MARKS}]*")
UNSPACED = re.compile(f"[{LETTERS}{MARKS}]")  # after which nothing shows where a word ends
OTHERS, SIGN = rf"[^\W{LETTERS}]+", rf"[^\w\s{MARKS}]"
PLAIN = re.compile(rf"{LETTER.pattern}|(?:[^\W_{LETTERS}][\u0300-\u036f]*)+")  # accents may be characters
TERM = re.compile(r"\b\w\w+\b")  # scikit-learn's, which leaves single characters out
NO_NUMBER = re.compile(r"\w*[^\W\d]\w*")
BREAK = re.compile("[\\s\u200b]+")  # the last says where a word ends, without a space
LETTER_OR_BREAK = re.compile(f"{LETTER.pattern}|{BREAK.pattern}")


def installed_splitter() -> str:
    """Return the name of the splitter that an installed package has, ``characters`` where none or several have one."""
    names = {entry.name for entry in entry_points(group=GROUP)}
    return names.pop() if len(names) == 1 else CHARACTERS


def splitter_of(texts: Sequence[str], wanted: str | None = None) -> str | None:
    """Return what has to cut texts into words, nothing where spaces do; ``wanted`` is what somebody names.

    Raises:
        ConfigError: No installed package has a splitter of that name.
    """
    if wanted is None:
        return installed_splitter() if without_spaces(texts) else None
    words_by(wanted)
    return wanted


def without_spaces(texts: Sequence[str]) -> bool:
    """Tell whether many letters are of scripts that put no spaces between words, and none are there."""
    sample = "\n".join(texts[:SAMPLE])
    stretches = [len(there) for there in BREAK.split("".join(LETTER_OR_BREAK.findall(sample))) if there]
    return sum(stretches) > max(SHARE * sum(map(str.isalpha, sample)), STRETCH * len(stretches))


def said_of(splitter: str | None) -> str:
    """Say what cuts texts into words; empty where spaces do."""
    if splitter is None:
        return ""
    how = "each of their characters is a word" if splitter == CHARACTERS else f"they are cut by {splitter}"
    return f"the texts have no spaces between words: {how}"


class Words:
    r"""Cuts texts where spaces and signs are, by LibMultiLabel's rule: runs of ``\w`` that are no numbers."""

    is_number: Callable[[str], bool] = staticmethod(str.isnumeric)

    def findall(self, text: str) -> list[str]:
        """Return the words of a text, numbers too."""
        return _pattern(text).findall(text)

    def spaced(self, text: str, *, pairs: bool) -> list[str]:
        """Return what has spaces between."""
        return text.split()

    def without_numbers(self, text: str) -> list[str]:
        """Return the words that hold a letter: what a network reads."""
        return NO_NUMBER.findall(text)

    def terms(self, text: str) -> list[str]:
        """Return the words that are terms of a linear model."""
        return TERM.findall(text)

    def beginning(self, text: str, words: int) -> str:
        """Return the first words of a text."""
        return " ".join(text.split(None, words)[:words])

    def places(self, text: str) -> Spans:
        """Return where each of them begins and ends."""
        return [match.span() for match in _pattern(text).finditer(text)]

    def shown(self, text: str, *, signs: bool) -> Places:
        """Return the places that a reader points at, (W, 2); with ``signs`` each other character is one too."""
        spans = [match.span() for match in (RUN_OR_SIGN if signs else RUN).finditer(text)]
        return np.array(spans, np.int64).reshape(-1, 2)


class Split(Words):
    """Cuts stretches of letters without spaces, by a function that returns the words of one in their order."""

    is_number = staticmethod(str.isdecimal)  # 三 is a number too, and a part of words

    def __init__(self, name: str, cut: Callable[[str], Iterable[str]] | None) -> None:
        stretch = LETTER.pattern if cut is None else f"(?:{LETTER.pattern})+"
        self._cut, self._where = cut, f"word_splitter: {name}"
        self._word = re.compile(f"{stretch}|{OTHERS}")
        self._word_or_sign = re.compile(f"{self._word.pattern}|{SIGN}")

    def findall(self, text: str) -> list[str]:
        """Return the words of a text, numbers too."""
        return [text[start:end] for start, end in self.places(text)]

    def without_numbers(self, text: str) -> list[str]:
        """Return the words that are no numbers."""
        return [word for word in self.findall(text) if not word.isdecimal()]

    def spaced(self, text: str, *, pairs: bool) -> list[str]:
        """Return words to put spaces between; with ``pairs`` each letter with the one after it, for lack of words."""
        places = self.places(text)
        if not pairs or self._cut is not None:
            return [text[start:end] for start, end in places]
        ends = [(start, end) for start, end in places if LETTER.match(text, start)]
        both = [text[start:end] for (start, middle), (next_one, end) in pairwise(ends) if middle == next_one]
        return [text[start:end] for start, end in places if not LETTER.match(text, start)] + both

    def terms(self, text: str) -> list[str]:
        """Return all words: single characters say something too."""
        return self.findall(text)

    def beginning(self, text: str, words: int) -> str:
        """Return the first words of a text."""
        places = self.places(text)[:words]
        return text[: places[-1][1]] if places else ""

    def places(self, text: str) -> Spans:
        """Return where each of them begins and ends."""
        return self._places(text, self._word)

    def shown(self, text: str, *, signs: bool) -> Places:
        """Return these places, (W, 2); with ``signs`` each other character is one too."""
        return np.array(self._places(text, self._word_or_sign if signs else self._word), np.int64).reshape(-1, 2)

    def _places(self, text: str, pattern: re.Pattern[str]) -> Spans:
        spans = [match.span() for match in pattern.finditer(text)]
        if self._cut is None:
            return spans
        return [word for start, end in spans for word in self._inside(text, start, end, self._cut)]

    def _inside(self, text: str, start: int, end: int, cut: Callable[[str], Iterable[str]]) -> Spans:
        if not LETTER.match(text, start):
            return [(start, end)]
        spans, stretch = Spans(), text[start:end]
        place = 0
        for word in cut(stretch):
            first = stretch.find(word, place)
            if first < 0 or not isinstance(word, str):
                fix = "let it return the words of the text, in their order, as they stand there"
                raise ConfigError("it returned a word that is not in the text", where=self._where, fix=fix)
            place = first + len(word)
            if word.strip():
                spans.append((start + first, start + place))
        return spans


@cache
def words_by(splitter: str | None) -> Words:
    """Return what finds the words of texts: nothing, ``characters``, or a function that a package names.

    Its entry point in the group ``plant_plugin.word_splitters`` is a function from a text to its words, as
    ``jieba.lcut`` and ``pythainlp.word_tokenize`` are.

    Raises:
        ConfigError: No installed package has one of that name, or it cannot be imported.
    """
    if splitter is None:
        return Words()
    if splitter == CHARACTERS:
        return Split(splitter, None)
    named = {entry.name: entry for entry in entry_points(group=GROUP)}
    where = f"word_splitter: {splitter}"
    if splitter not in named:
        near = suggestion(splitter, [CHARACTERS, *sorted(named)])
        what = f"no installed package has a word splitter {splitter!r}"
        raise ConfigError(what, where=where, fix=f"install the one that has it in the group {GROUP}; {near}")
    try:
        return Split(splitter, named[splitter].load())
    except (ImportError, AttributeError) as error:
        what = f"it cannot be imported ({type(error).__name__})"
        raise ConfigError(what, where=where, fix="install its package anew") from error


def words_of(text: str, splitter: str | None = None) -> list[str]:
    """Return a text's words in lower case, without pure numbers."""
    words = words_by(splitter)
    return [run.lower() for run in words.findall(text) if not words.is_number(run)]


def lengths_of(texts: Sequence[str]) -> list[int]:
    """Return the number of words of each text that are no numbers, by what cuts all of them into words."""
    return list(map(len, map(words_by(splitter_of(texts)).without_numbers, texts)))


def _pattern(text: str) -> re.Pattern[str]:
    r"""Return the pattern of ``\w+`` by which nltk, and so LibMultiLabel, cuts a text."""
    return RUN if text.isascii() else _unicode_pattern()


@cache
def _unicode_pattern() -> re.Pattern[str]:
    """Return the pattern of the module by which nltk finds words; to import nltk itself takes a second.

    Newer ones have a module ``redos`` and use ``regex``, for which ² is no part of a word and a combining mark is.
    """
    nltk = find_spec("nltk")
    folders = [] if nltk is None else nltk.submodule_search_locations or []
    if not any((Path(folder) / "redos.py").is_file() for folder in folders):
        return RUN
    import regex  # type: ignore[import-untyped]

    pattern: re.Pattern[str] = regex.compile(RUN.pattern)
    return pattern
