"""Words in lower case and without accents: what phrases and names are made of."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

from plant_plugin.data.last_texts import TEXTS
from plant_plugin.data.text import Spans
from plant_plugin.data.words import LETTER, PLAIN


def plain_words(text: str, letters: int | None = None) -> tuple[list[str], Spans]:
    """Words in lower case, without accents, cut to their first letters; numbers whole. And where each stands.

    A letter of a script without spaces is a word, whatever a model's splitter: names are read without any text.
    """
    words, spans = _whole(text)
    return [_plain(word, letters) for word in words], list(spans)


@lru_cache(TEXTS)  # a text is read again for another number of letters
def _whole(text: str) -> tuple[list[str], Spans]:
    matches = list(PLAIN.finditer(text))
    return [_plain(match.group(), None) for match in matches], [match.span() for match in matches]


@lru_cache(maxsize=100_000)  # most words of a text stood in another one
def _plain(word: str, letters: int | None) -> str:
    if LETTER.match(word):
        return word  # whose marks are no accents
    characters = unicodedata.normalize("NFD", word.lower())
    plain = "".join(character for character in characters if not unicodedata.combining(character))
    return plain if plain.isdigit() else plain[:letters]
