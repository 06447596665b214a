"""The first layer of a network of words: drawn, of a file, or made by word2vec of the run's own training texts."""

from __future__ import annotations

import functools
import shutil
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from plant_plugin.config.options import WORD2VEC
from plant_plugin.config.sections import Settings
from plant_plugin.data.tokens import kept_at
from plant_plugin.data.word_tokens import RANDOM_SIZE, WordTokens, embedding_matrix
from plant_plugin.files import atomic_write, cached
from plant_plugin.prepare.embeddings import write_embeddings

if TYPE_CHECKING:
    from torch import Tensor

    from plant_plugin.report.run import Run
    from plant_plugin.training.inputs import Encoded

FILE = "vectors.txt"


def word_vectors(
    documents: Encoded, tokens: WordTokens, settings: Settings, dim: int | None, run: Run, *, trained: bool
) -> Tensor:
    """Return a vector for each word, float32 (V, dim).

    Args:
        documents: Those of the run; word2vec reads the training texts alone.
        tokens: The vocabulary, V words.
        settings: ``embed_file`` says where vectors come from. What word2vec makes is kept in ``cache_dir``, so that
            runs with other seeds start from the same vectors, as they do from a file.
        dim: Their size, unless they are of a file; None: 100.
        run: Measures the time that word2vec takes.
        trained: Whether a model's weights come after them, so that word2vec is not needed.

    Raises:
        DataError: The file cannot be read, or holds no vectors.
    """
    matrix = functools.partial(
        embedding_matrix, tokens, normalize=settings.normalize_embed, seed=settings.seed or 0, dim=dim
    )
    name = settings.embed_file
    if name is None or (name == WORD2VEC and trained):
        return matrix(None)
    if Path(name).is_file():
        return matrix(Path(name))
    if name != WORD2VEC:
        from plant_plugin.host.vocabulary import vectors_file  # imports LibMultiLabel, seconds

        return matrix(vectors_file(name, settings.embed_cache_dir))
    train, sizes = documents.corpus.train, {"dim": dim or RANDOM_SIZE, "min_count": settings.min_vocab_freq}
    path = kept_at(settings, WORD2VEC, version("gensim"), version("nltk"), train.hash(), sizes)
    with run.phase("word vectors"), TemporaryDirectory() as scratch:

        def make() -> Path:
            return write_embeddings(train.texts, Path(scratch, FILE), **sizes)[0]

        return matrix(cached(path, Path, make, _copy, "Word vectors are"))


def _copy(path: Path, made: Path) -> None:
    with atomic_write(path) as temporary:
        shutil.copyfile(made, temporary)
