"""The vocabulary of words, by LibMultiLabel's rules, and its first vectors."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from plant_plugin.data.text import text_lines
from plant_plugin.data.token_arrays import TokenArrays
from plant_plugin.data.words import Words, words_by
from plant_plugin.errors import DataError
from plant_plugin.files import write_text

if TYPE_CHECKING:
    import torch

PAD, UNKNOWN = "<pad>", "<unk>"  # LibMultiLabel's names, at ids 0 and 1
VOCABULARY_FILE = "vocabulary.json"
RANDOM_SIZE = 100  # CAML's dimension, for vectors that start at random
NORM_EPSILON = 1e-6  # LibMultiLabel's, from CAML: keeps the zero vector
NO_WORD = -1  # in the place of a pure number's id


class _IdOfRun(dict[str, int]):
    """Ids of runs of letters as texts have them, upper case and all, each looked up once."""

    def __init__(self, id_of: Mapping[str, int], unknown_id: int, words: Words) -> None:
        self.id_of, self.unknown_id, self.words = id_of, unknown_id, words

    def __missing__(self, run: str) -> int:
        number = NO_WORD if self.words.is_number(run) else self.id_of.get(run.lower(), self.unknown_id)
        self[run] = number
        return number


class WordTokens:
    r"""LibMultiLabel's words: ``\w+``, lower-cased, without pure numbers; ``<pad>`` is 0, ``<unk>`` is 1.

    Args:
        words: Every word by its id, the two special ones first.
        splitter: What cuts texts into words, see :mod:`.words`; None: spaces and signs.
    """

    pad_id = 0
    unknown_id = 1
    special_ids = (0, 1)

    def __init__(self, words: Sequence[str], splitter: str | None = None) -> None:
        self.words, self.splitter = list(words), splitter
        self.id_of = {word: number for number, word in enumerate(self.words)}

    @classmethod
    def build(cls, texts: Iterable[str], min_vocab_freq: int = 1, splitter: str | None = None) -> WordTokens:
        """Collect the words that ``min_vocab_freq`` documents or more hold, most frequent first, then by alphabet."""
        return cls._from_counts(documents_with_words(texts, splitter), min_vocab_freq, splitter)

    @classmethod
    def from_file(cls, vocab_file: str | Path, splitter: str | None = None) -> WordTokens:
        """Read a file with one word a line, in LibMultiLabel's order; blank lines are left out.

        Raises:
            DataError: The file cannot be read or holds no word.
        """
        with text_lines(Path(vocab_file), newline=None) as lines:
            frequency = Counter(word.strip() for word in "".join(lines).splitlines())
        for name in ("", PAD, UNKNOWN):
            frequency.pop(name, None)
        if not frequency:
            raise DataError("the vocabulary file holds no word", where=str(vocab_file), fix="one word a line")
        return cls._from_counts(frequency, 1, splitter)

    @classmethod
    def _from_counts(cls, frequency: Counter[str], minimum: int, splitter: str | None) -> WordTokens:
        ordered = sorted(frequency.items(), key=lambda item: (-item[1], item[0]))
        return cls([PAD, UNKNOWN, *(word for word, count in ordered if count >= minimum)], splitter)

    def without(self, rare: Iterable[int]) -> WordTokens:
        """Return the words without those of some ids, which become ``<unk>``; no other id changes."""
        words = list(self.words)
        for number in rare:
            words[number] = f"<removed {number}>"  # which no text has as a word
        return WordTokens(words, self.splitter)

    @property
    def size(self) -> int:
        """Return V, with the two special words."""
        return len(self.words)

    def hash(self) -> str:
        """Return SHA-256 (hex) over the words in order, and over the splitter where there is one."""
        return hashlib.sha256("\n".join([*self.words, *filter(None, [self.splitter])]).encode()).hexdigest()

    def token(self, number: int) -> str:
        """Return the word with this id."""
        return self.words[number]

    def encode(self, texts: Iterable[str], max_length: int) -> TokenArrays:
        """Return ids of the first ``max_length`` words of each text; words that are not known become ``<unk>``."""
        cut = words_by(self.splitter)
        id_of_run = _IdOfRun(self.id_of, self.unknown_id, cut)
        ids, lengths, truncated = [np.empty(0, np.int32)], list[int](), 0
        for text in texts:
            runs = np.fromiter(map(id_of_run.__getitem__, cut.findall(text)), np.int32)
            words = runs[runs != NO_WORD]
            truncated += len(words) > max_length
            ids.append(words[:max_length])
            lengths.append(len(ids[-1]))
        return TokenArrays.from_flat(np.concatenate(ids), lengths, self.special_ids, truncated)

    def spans(self, text: str, max_length: int) -> list[tuple[int, int]]:
        """Return where each token that :meth:`encode` makes of a text begins and ends, in characters."""
        words = words_by(self.splitter)
        places = (span for span in words.places(text) if not words.is_number(text[slice(*span)]))
        return list(islice(places, max_length))

    def save(self, folder: str | Path) -> None:
        """Write ``vocabulary.json`` into the folder."""
        write_vocabulary(Path(folder), {"kind": "word", "hash": self.hash(), "words": self.words}, self.splitter)


def documents_with_words(texts: Iterable[str], splitter: str | None = None) -> Counter[str]:
    """Return how many texts hold each of their words."""
    frequency, words = Counter[str](), words_by(splitter)
    for text in texts:
        frequency.update({run.lower() for run in set(words.findall(text)) if not words.is_number(run)})
    return frequency


def write_vocabulary(folder: Path, content: Mapping[str, object], splitter: str | None) -> None:
    """Write ``vocabulary.json`` whole or not at all, with what cuts texts into words; makes the folder."""
    cut = {} if splitter is None else {"splitter": splitter}
    write_text(folder / VOCABULARY_FILE, json.dumps({**content, **cut}, ensure_ascii=False))


def embedding_matrix(
    tokens: WordTokens, file: Path | None, *, normalize: bool, seed: int, dim: int | None = None
) -> torch.Tensor:
    """Make the first embedding layer: a row for each word of the vocabulary.

    From a file by LibMultiLabel's rule: a word without a vector starts at zero, ``<unk>`` at standard normal values
    (here drawn from the seed). Without a file every row but ``<pad>`` is drawn from N(0, 0.1²).

    Args:
        tokens: The vocabulary, V words.
        file: One word and its values a line, or None.
        normalize: Divide each row by its norm.
        seed: Of what is drawn.
        dim: Size of random vectors (default 100); not used with a file.

    Returns:
        float32 (V, dim), on the CPU.

    Raises:
        DataError: The file cannot be read or a line has another number of values.
    """
    import torch  # slow to import

    generator = torch.Generator().manual_seed(seed)
    if file is None:
        weights = torch.randn(tokens.size, dim or RANDOM_SIZE, generator=generator) * 0.1
        weights[tokens.pad_id] = 0.0
    else:
        weights = torch.from_numpy(_read_vectors(file, tokens))
        weights[tokens.unknown_id] = torch.randn(weights.shape[1], generator=generator)
    if normalize:
        exact = weights.double()
        weights = (exact / (torch.linalg.norm(exact, dim=1, keepdim=True) + NORM_EPSILON)).float()
    return weights


def _read_vectors(path: Path, tokens: WordTokens) -> npt.NDArray[np.float32]:
    weights: npt.NDArray[np.float32] | None = None
    with text_lines(path, newline=None) as lines:
        for number, line in enumerate(lines, 1):
            word, *values = line.rstrip().split(" ")
            if number == 1 and len(values) == 1:
                continue  # word2vec's header: number of words and dimension
            if weights is None:
                weights = np.zeros((tokens.size, len(values)), dtype=np.float32)
            if (row := tokens.id_of.get(word)) is None:
                continue
            where = f"{path}, line {number}"
            try:
                vector = np.array(values, dtype=np.float32)
            except ValueError as error:
                raise DataError("a value is not a number", where=where) from error
            if len(vector) != weights.shape[1]:
                what = f"{len(vector)} values where the first line has {weights.shape[1]}"
                raise DataError(what, where=where)
            weights[row] = vector
    if weights is None or not weights.shape[1]:
        raise DataError("the embedding file holds no vectors", where=str(path), fix="one 'word v1 v2 …' a line")
    return weights
