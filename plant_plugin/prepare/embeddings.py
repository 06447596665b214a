"""Word vectors trained on one's own text, in the files that LibMultiLabel's baselines read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plant_plugin.data.documents import source_path
from plant_plugin.data.tables import read_any
from plant_plugin.data.word_tokens import WordTokens
from plant_plugin.data.words import splitter_of, words_of
from plant_plugin.errors import DataError
from plant_plugin.files import atomic_write, write_text

LONGEST_SENTENCE = 10_000  # gensim silently drops what comes after so many words
# A small text needs more passes: after 5 passes over BC5CDR (0.3 million words) two random vectors had a cosine of
# 0.86, after 30 of 0.09. From 2 million words on, CAML's 5 passes are enough.
WORDS_TO_SEE = 10_000_000
FEWEST_PASSES, MOST_PASSES = 5, 50


@dataclass
class _Sentences:
    """The words of each document, anew for every pass; a long document is several sentences."""

    texts: list[str]
    splitter: str | None

    def __iter__(self) -> Iterator[list[str]]:
        for text in self.texts:
            words = words_of(text, self.splitter)
            for start in range(0, len(words), LONGEST_SENTENCE):
                yield words[start : start + LONGEST_SENTENCE]


def passes_for(words: int) -> int:
    """Passes over a text of so many words that show the model about 10 million of them, from 5 to 50."""
    return min(max(FEWEST_PASSES, -(-WORDS_TO_SEE // max(words, 1))), MOST_PASSES)


def train_embeddings(
    train: str | Path,
    out: str | Path,
    dim: int = 100,
    min_count: int = 3,
    epochs: int | None = None,
    seed: int = 1,
    **reading: Any,
) -> tuple[Path, Path]:
    """Train word2vec (CBOW, as CAML did) on a training file and write LibMultiLabel's embedding and vocabulary files.

    Args:
        train: The training file, or ``demo:train``; give no validation or test file here.
        out: The embedding file, ``word v1 v2 …`` a line without a header (``embed_file``); the words alone, one a
            line, go to the same name with ``.vocab`` added (``vocab_file``). These two paths are returned.
        dim: Size of the vectors.
        min_count: Words that fewer documents hold are left out of both files (3 in CAML).
        epochs: Passes over the text; by default so many that 10 million words are seen, from 5 to 50.
        seed: Of the training, which one thread does, so that the same input gives the same files.
        reading: Arguments of :func:`.tables.read_any`.

    Raises:
        DataError: The file cannot be read, or no word is in ``min_count`` documents.
    """
    texts = read_any(source_path(str(train)), **reading).texts
    return write_embeddings(texts, out, dim, min_count, epochs, seed)


def write_embeddings(
    texts: list[str], out: str | Path, dim: int = 100, min_count: int = 3, epochs: int | None = None, seed: int = 1
) -> tuple[Path, Path]:
    """Train word2vec on texts and write the two files; all is as in :func:`train_embeddings`."""
    from gensim.models import Word2Vec  # takes a second

    splitter = splitter_of(texts)
    words = sorted(WordTokens.build(texts, min_count, splitter).words[2:])  # without <pad> and <unk>
    if not words:
        fix = "choose a lower min_count"
        raise DataError(f"no word is in as many training documents as {min_count}", where=str(out), fix=fix)
    sentences = _Sentences(texts, splitter)
    passes = epochs or passes_for(sum(map(len, sentences)))
    model = Word2Vec(sentences, vector_size=dim, min_count=min_count, epochs=passes, seed=seed, workers=1, sg=0)
    out = Path(out)
    vocabulary = out.with_name(out.name + ".vocab")
    with atomic_write(out) as temporary, temporary.open("w", encoding="utf-8") as stream:
        for word in words:
            stream.write(f"{word} {' '.join(f'{value:.6f}' for value in model.wv[word])}\n")
    write_text(vocabulary, "".join(f"{word}\n" for word in words))
    return out, vocabulary
