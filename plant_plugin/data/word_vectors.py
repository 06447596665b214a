"""Word vectors for a vocabulary, from a text file or at random."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

from plant_plugin.data.word_tokens import WordTokens
from plant_plugin.errors import DataError

RANDOM_SIZE = 100  # CAML's dimension, for vectors that start at random
NORM_EPSILON = 1e-6  # LibMultiLabel's, from CAML: keeps the zero vector


def embedding_matrix(
    tokens: WordTokens, file: Path | None, *, normalize: bool, seed: int, dim: int | None = None
) -> torch.Tensor:
    """The first embedding layer: a row for each word of the vocabulary.

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
    try:
        with path.open(encoding="utf-8") as stream:
            for number, line in enumerate(stream, 1):
                word, *values = line.rstrip().split(" ")
                if number == 1 and len(values) == 1:
                    continue  # word2vec's header: number of words and dimension
                if weights is None:
                    weights = np.zeros((tokens.size, len(values)), dtype=np.float32)
                row = tokens.id_of.get(word)
                if row is not None:
                    weights[row] = _vector(values, weights.shape[1], path, number)
    except (OSError, UnicodeDecodeError) as error:
        what = f"the embedding file cannot be read ({type(error).__name__})"
        raise DataError(what, where=str(path)) from error
    if weights is None or not weights.shape[1]:
        raise DataError("the embedding file holds no vectors", where=str(path), fix="one 'word v1 v2 …' a line")
    return weights


def _vector(values: list[str], dim: int, path: Path, number: int) -> npt.NDArray[np.float32]:
    try:
        vector = np.array(values, dtype=np.float32)
    except ValueError as error:
        raise DataError("a value is not a number", where=f"{path}, line {number}") from error
    if len(vector) != dim:
        raise DataError(f"{len(vector)} values where the first line has {dim}", where=f"{path}, line {number}")
    return vector
