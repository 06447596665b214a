"""Texts of languages that put no spaces between words: Chinese, Japanese, Thai, Lao, Khmer, Burmese.

Every letter of them, with the marks that stand on it, is a word: a text decides by itself, so that training, prediction
and explanations read it alike, and places stay those of the text. A text whose words somebody has cut apart stays as it
is.

Source: Devlin et al. 2019 (BERT), whose tokenizer puts spaces around Chinese characters.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence

UNSPACED = "the texts have no spaces between words"
CUT = "cut them first (a space between words), or take a language model"
SAMPLE = 200  # texts that are looked at
EAST = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Chinese and Japanese
SOUTH = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
# Letters of a run between spaces, on the mean, from which nobody has cut words apart: these are shorter.
UNCUT_EAST, UNCUT_SOUTH = 3, 8
MARKS = "".join(
    chr(code)
    for first, last in re.findall("(.)-(.)", SOUTH)
    for code in range(ord(first), ord(last) + 1)
    if unicodedata.category(chr(code)).startswith("M")
)
IN_EAST, IN_SOUTH = re.compile(f"[{EAST}]"), re.compile(f"[{SOUTH}]")
LETTER = f"[{EAST}{SOUTH}][{MARKS}]*"
WORD = re.compile(rf"{LETTER}|[^\W{EAST}{SOUTH}]+")
WORD_OR_SIGN = re.compile(rf"{WORD.pattern}|[^\w\s]")


def is_unspaced(text: str) -> bool:
    """Tell whether such letters outnumber the other words of a text, and nobody has cut words of them apart."""
    if text.isascii() or not (IN_EAST.search(text) or IN_SOUTH.search(text)):
        return False
    words = WORD.findall(text)
    east, south = (sum(letters.match(word) is not None for word in words) for letters in (IN_EAST, IN_SOUTH))
    runs = len(text.split())
    return 2 * (east + south) > len(words) and (east >= UNCUT_EAST * runs or south >= UNCUT_SOUTH * runs)


class WordPattern:
    """The pattern of words; in texts without spaces each of their letters is one.

    Args:
        usual: Of all other texts.
        signs: Whether characters that belong to no word are found too, one by one.
    """

    def __init__(self, usual: str, *, signs: bool = False) -> None:
        self.usual, self.unspaced = re.compile(usual), WORD_OR_SIGN if signs else WORD

    def of(self, text: str) -> re.Pattern[str]:
        """Return the pattern for a text."""
        return self.unspaced if is_unspaced(text) else self.usual

    def findall(self, text: str) -> list[str]:
        """Return the words of a text."""
        return self.of(text).findall(text)

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        """Yield the words of a text and where they stand."""
        return self.of(text).finditer(text)


def without_spaces(texts: Sequence[str]) -> bool:
    """Tell whether most of some texts are of such a language, without spaces between words."""
    sample = texts[:SAMPLE]
    return 2 * sum(map(is_unspaced, sample)) > len(sample)
