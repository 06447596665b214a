"""The vocabulary of words, by LibMultiLabel's rules."""

from __future__ import annotations

import hashlib
import json
import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from plant_plugin.data.token_arrays import TokenArrays
from plant_plugin.errors import DataError
from plant_plugin.files import atomic_write

PAD, UNKNOWN = "<pad>", "<unk>"  # LibMultiLabel's names, at ids 0 and 1
STANDARD_WORD = re.compile(r"\w+")
VOCABULARY_FILE = "vocabulary.json"


def words_of(text: str) -> list[str]:
    r"""A text's words by LibMultiLabel's rule: runs of ``\w``, lower-cased, without pure numbers."""
    return [word.lower() for word in _runs(text) if not word.isnumeric()]


def _runs(text: str) -> list[str]:
    # What ``\w`` means beyond ASCII (², combining marks) depends on nltk's version: nltk decides, as in LibMultiLabel.
    # Whether a character belongs to a word does not depend on its neighbours, so where both agree on every character
    # the standard library, several times faster, gives the same words.
    if text.isascii() or all(map(_AGREED.__getitem__, set(text))):
        return STANDARD_WORD.findall(text)
    return _nltk_runs()(text)


class _Agreed(dict[str, bool]):
    """Character -> whether nltk and the standard library agree that it does, or does not, belong to a word."""

    def __missing__(self, character: str) -> bool:
        self[character] = STANDARD_WORD.findall(character) == _nltk_runs()(character)
        return self[character]


_AGREED = _Agreed()


@cache
def _nltk_runs() -> Callable[[str], list[str]]:
    from nltk.tokenize import RegexpTokenizer  # type: ignore[import-untyped]  # slow to import

    tokenize: Callable[[str], list[str]] = RegexpTokenizer(r"\w+").tokenize
    return tokenize


class _KnownWords(dict[str, int]):
    """Token as it stands in the text -> id, or -1 for numbers; filled as tokens are seen."""

    def __init__(self, id_of: dict[str, int]) -> None:
        super().__init__()
        self._id_of = id_of

    def __missing__(self, token: str) -> int:
        number = -1 if token.isnumeric() else self._id_of.get(token.lower(), 1)
        self[token] = number
        return number


class WordTokens:
    r"""LibMultiLabel's words: ``\w+``, lower-cased, without pure numbers; ``<pad>`` is 0, ``<unk>`` is 1.

    Args:
        words: Every word by its id, the two special ones first.
    """

    pad_id = 0
    unknown_id = 1
    special_ids = (0, 1)

    def __init__(self, words: Sequence[str]) -> None:
        self.words = list(words)
        self.id_of = {word: number for number, word in enumerate(self.words)}

    @classmethod
    def build(cls, texts: Iterable[str], min_vocab_freq: int = 1) -> WordTokens:
        """The words that at least ``min_vocab_freq`` documents hold, most frequent first, then by alphabet."""
        frequency: Counter[str] = Counter()
        for text in texts:
            frequency.update({word.lower() for word in set(_runs(text)) if not word.isnumeric()})
        return cls._from_counts(frequency, min_vocab_freq)

    @classmethod
    def from_file(cls, vocab_file: str | Path) -> WordTokens:
        """The words of a file with one word a line, in LibMultiLabel's order; blank lines are left out.

        Raises:
            DataError: The file cannot be read or holds no word.
        """
        try:
            lines = Path(vocab_file).read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            what = f"the vocabulary file cannot be read ({type(error).__name__})"
            raise DataError(what, where=str(vocab_file)) from error
        frequency = Counter(line.strip() for line in lines)
        for name in ("", PAD, UNKNOWN):
            frequency.pop(name, None)
        if not frequency:
            raise DataError("the vocabulary file holds no word", where=str(vocab_file), fix="one word a line")
        return cls._from_counts(frequency, 1)

    @classmethod
    def _from_counts(cls, frequency: Counter[str], minimum: int) -> WordTokens:
        ordered = sorted(frequency.items(), key=lambda item: (-item[1], item[0]))
        return cls([PAD, UNKNOWN, *(word for word, count in ordered if count >= minimum)])

    @property
    def size(self) -> int:
        """V, with the two special words."""
        return len(self.words)

    def hash(self) -> str:
        """SHA-256 (hex) over the words in order."""
        return hashlib.sha256("\n".join(self.words).encode()).hexdigest()

    def token(self, number: int) -> str:
        """The word with this id."""
        return self.words[number]

    def encode(self, texts: Iterable[str], max_length: int) -> TokenArrays:
        """Ids of the first ``max_length`` words of each text; words outside the vocabulary become ``<unk>``."""
        look_up = _KnownWords(self.id_of).__getitem__
        ids, lengths = array("i"), []
        for text in texts:
            found = [number for number in map(look_up, _runs(text)) if number >= 0][:max_length]
            ids.extend(found)
            lengths.append(len(found))
        return TokenArrays.from_flat(ids, lengths, frozenset(self.special_ids))

    def spans(self, text: str, max_length: int) -> list[tuple[int, int]]:
        """Where each token that :meth:`encode` makes of a text begins and ends, in characters."""
        found: list[tuple[int, int]] = []
        end = 0
        for run in _runs(text):
            if len(found) == max_length:
                break
            start = text.index(run, end)  # runs are as long as they can be: no earlier place holds their characters
            end = start + len(run)
            if not run.isnumeric():
                found.append((start, end))
        return found

    def save(self, folder: str | Path) -> None:
        """Write ``vocabulary.json`` into the folder."""
        write_vocabulary(Path(folder), {"kind": "word", "hash": self.hash(), "words": self.words})


def write_vocabulary(folder: Path, content: dict[str, Any]) -> None:
    """Write ``vocabulary.json`` whole or not at all; makes the folder."""
    with atomic_write(folder / VOCABULARY_FILE) as temporary:
        temporary.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
