"""How relevant each token type is for each label, from document counts of the training split (method §1).

Shapes: N training documents, L labels, V token types.
"""

from __future__ import annotations

import os
import zipfile
import zlib
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.special import entr, xlog1py

from plant_plugin.data.token_arrays import TokenArrays
from plant_plugin.errors import CheckpointError, ConfigError
from plant_plugin.files import atomic_write
from plant_plugin.options import RelevanceOptions

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

FORMAT_VERSION = 1
BLOCK_CELLS = 2_000_000  # (label, token type) cells that one worker holds at once: about 150 MB
MAX_WORKERS = 8


@dataclass
class Relevance:
    """Relevance of token types for labels.

    Attributes:
        matrix: CSR (L, V) float32 in [0, 1]; only the kept entries are stored, all above 0.
        hashes: What it was made from, by name, e.g. ``labels``, ``vocabulary``, ``train``, ``options``.
    """

    matrix: sp.csr_array
    hashes: dict[str, str] = field(default_factory=dict)

    def save(self, path: str | Path, **hashes: str) -> None:
        """Write an ``.npz`` file of plain arrays together with the hashes of what made it."""
        self.hashes = {**self.hashes, **hashes}
        content: dict[str, Any] = {f"hash_{name}": np.array(value) for name, value in self.hashes.items()}
        content |= {
            "version": np.int64(FORMAT_VERSION),
            "data": self.matrix.data,
            "indices": self.matrix.indices.astype(np.int32),
            "indptr": self.matrix.indptr.astype(np.int64),
            "shape": np.array(self.matrix.shape, dtype=np.int64),
        }
        with atomic_write(Path(path)) as temporary, open(temporary, "wb") as stream:
            np.savez(stream, **content)

    @classmethod
    def load(cls, path: str | Path, expect: dict[str, str] | None = None) -> Relevance:
        """Read what :meth:`save` wrote.

        Args:
            path: The ``.npz`` file.
            expect: Hashes that must agree, by name.

        Raises:
            CheckpointError: The file is missing or torn, or was made for something else; both sides are named.
        """
        try:
            with np.load(path, allow_pickle=False) as content:
                stored = {name: content[name] for name in content.files}
            if int(stored["version"]) != FORMAT_VERSION:
                raise CheckpointError(f"format {int(stored['version'])}, expected {FORMAT_VERSION}", where=str(path))
            shape = (int(stored["shape"][0]), int(stored["shape"][1]))
            matrix = sp.csr_array((stored["data"], stored["indices"], stored["indptr"]), shape=shape)
        except (OSError, ValueError, KeyError, EOFError, IndexError, zipfile.BadZipFile, zlib.error) as error:
            what = f"the relevance file cannot be read ({type(error).__name__})"
            fix = "remove it and run again: it is made anew"
            raise CheckpointError(what, where=str(path), fix=fix) from error
        hashes = {name.removeprefix("hash_"): str(value) for name, value in stored.items() if name.startswith("hash_")}
        for name, wanted in (expect or {}).items():
            if hashes.get(name) != wanted:
                what = f"made for {name} {str(hashes.get(name))[:12]}, but {name} here is {wanted[:12]}"
                fix = "use the run folder of the same data and configuration, or remove the file"
                raise CheckpointError(what, where=str(path), fix=fix)
        return cls(matrix, hashes)


def compute_relevance(
    arrays: TokenArrays,
    labels: sp.csr_array,
    vocabulary_size: int,
    special_ids: Iterable[int],
    options: RelevanceOptions,
    *,
    workers: int | None = None,
) -> Relevance:
    """Relevance of every token type for every label, exactly, block by block of labels.

    ``measure: mig`` is the mutual information, in nats, between "the document has the label" and "the document holds
    the token": r = Σ P(x,y)·ln(P(x,y) / (P(x)·P(y))) over the four cells, where a zero cell adds 0. With
    ``association: positive`` only pairs with n_lt·N > n_l·n_t are kept, with ``any`` also tokens that avoid the label.
    ``normalize: max`` divides by the label's highest value, ``entropy`` by H(l), ``jaccard`` by H(l) + H(t) − r.

    ``measure: term_frequency`` counts the token's occurrences in the label's documents and divides by the label's
    highest count; ``association`` does not apply to it.

    Args:
        arrays: Token ids of the N training documents, and of no others.
        labels: Their labels, sparse (N, L) of ones.
        vocabulary_size: V.
        special_ids: Padding, unknown and other ids that never carry relevance.
        options: Measure, association, normalisation, and how many token types a label keeps (``top``; by normalised
            value, ties go to the lower token id).
        workers: Threads; None for one per processor, at most 8. The result does not depend on it.

    Returns:
        The kept values, all above 0. A label that no training document has, or every one, keeps none.

    Raises:
        ValueError: ``arrays`` and ``labels`` differ in length.
        ConfigError: ``term_frequency`` with another normalisation than ``max``.

    Source:
        PLANT's mutual information gain, natural logarithm; the sign filter is ours, the measure being blind to it.
    """
    if len(arrays) != labels.shape[0]:
        raise ValueError(f"{len(arrays)} documents but {labels.shape[0]} rows of labels")
    if options.measure == "term_frequency" and options.normalize != "max":
        what = f"measure term_frequency knows no normalize: {options.normalize}"
        raise ConfigError(what, where="relevance.normalize", fix="use normalize: max")
    counts = _count(arrays, labels, vocabulary_size, special_ids, occurrences=options.measure == "term_frequency")
    block_of = _term_frequency if options.measure == "term_frequency" else _mutual_information
    with ThreadPoolExecutor(workers or min(os.cpu_count() or 1, MAX_WORKERS)) as pool:
        blocks = list(pool.map(lambda block: block_of(counts, block, options), _blocks(counts, options)))
    stacked = sp.vstack(blocks, format="csr") if blocks else sp.csr_array((0, vocabulary_size), dtype=np.float32)
    return Relevance(sp.csr_array(stacked))


@dataclass(frozen=True)
class _Counts:
    """What all blocks of labels share."""

    documents: int  # N
    label_documents: Integers  # n_l, (L,)
    token_documents: Integers  # n_t, (V,); 0 for special ids
    labels: sp.csr_array  # (L, N) ones
    tokens: sp.csr_array  # (N, V) ones where present, or occurrences; nothing for special ids


def _count(
    arrays: TokenArrays, labels: sp.csr_array, vocabulary_size: int, special_ids: Iterable[int], *, occurrences: bool
) -> _Counts:
    special = np.zeros(vocabulary_size, dtype=bool)
    special[list(special_ids)] = True
    kept = ~special[arrays.ids]
    offsets = np.concatenate([[0], np.cumsum(kept)])[arrays.offsets]
    ids = arrays.ids[kept]
    shape = (len(arrays), vocabulary_size)
    tokens = sp.csr_array((np.ones(len(ids), dtype=np.int64), ids, offsets), shape=shape)
    tokens.sum_duplicates()
    token_documents = np.bincount(tokens.indices, minlength=vocabulary_size).astype(np.int64)
    if not occurrences:
        tokens.data[:] = 1
    by_label = sp.csr_array(labels.T).astype(np.int64)
    by_label.sum_duplicates()
    by_label.data[:] = 1
    return _Counts(len(arrays), np.diff(by_label.indptr).astype(np.int64), token_documents, by_label, tokens)


def _blocks(counts: _Counts, options: RelevanceOptions) -> list[slice]:
    """Runs of labels whose tables together have at most ``BLOCK_CELLS`` cells (one label at least)."""
    num_labels, vocabulary_size = counts.labels.shape[0], counts.tokens.shape[1]
    if options.measure == "mig" and options.association == "any":
        cells = np.full(num_labels, vocabulary_size)
    else:
        cells = np.minimum(counts.labels @ np.diff(counts.tokens.indptr).astype(np.int64), vocabulary_size)
    number = np.cumsum(cells) // BLOCK_CELLS
    starts = [0, *(np.flatnonzero(np.diff(number)) + 1), num_labels] if num_labels else []
    return [slice(int(start), int(stop)) for start, stop in pairwise(starts)]


def _mutual_information(counts: _Counts, block: slice, options: RelevanceOptions) -> sp.csr_array:
    """Normalised MIG of a block of labels, (block, V)."""
    table = counts.labels[block] @ counts.tokens  # n_lt, (block, V), only where it is above 0
    if options.association == "any":
        # A token that never meets the label is informative too.
        both = table.toarray().ravel()
        label, token = np.divmod(np.arange(both.size), table.shape[1])
    else:
        table.sort_indices()
        both, token = table.data, table.indices.astype(np.int64)
        label = np.repeat(np.arange(table.shape[0]), np.diff(table.indptr))
    total = counts.documents
    with_label, with_token = counts.label_documents[block][label], counts.token_documents[token]
    excess = both * total - with_label * with_token  # exact in integers; its sign is the association's
    kept = np.flatnonzero(excess > 0 if options.association == "positive" else excess != 0)
    label, token = label[kept], token[kept]
    both, with_label, with_token, excess = both[kept], with_label[kept], with_token[kept], excess[kept]
    value = _four_cells(both, with_label, with_token, excess, total)
    if options.normalize == "entropy":
        value /= _entropy(with_label, total)
    elif options.normalize == "jaccard":
        value /= _entropy(with_label, total) + _entropy(with_token, total) - value
    offsets = np.searchsorted(label, np.arange(table.shape[0] + 1))
    return _keep_top(value, token, offsets, table.shape[1], options)


def _four_cells(both: Integers, with_label: Integers, with_token: Integers, excess: Integers, total: int) -> Floats:
    """Mutual information in nats from counts whose margins are all above 0.

    Each cell's P(x,y)/(P(x)P(y)) is 1 ± excess/(product of its margins), so log1p keeps all digits near independence.
    """
    without_label, without_token = total - with_label, total - with_token
    value = np.asarray(xlog1py(both, excess / (with_label * with_token)), dtype=np.float64)
    value += xlog1py(with_label - both, -excess / (with_label * without_token))
    value += xlog1py(with_token - both, -excess / (without_label * with_token))
    value += xlog1py(without_label - with_token + both, excess / (without_label * without_token))
    return np.maximum(value / total, 0.0)


def _entropy(count: Integers, total: int) -> Floats:
    """Entropy in nats of a yes/no variable that is true ``count`` times of ``total``."""
    return np.asarray(entr(count / total) + entr(1.0 - count / total))


def _term_frequency(counts: _Counts, block: slice, options: RelevanceOptions) -> sp.csr_array:
    """Normalised number of occurrences in the documents of a block of labels, (block, V)."""
    table = counts.labels[block] @ counts.tokens
    table.sort_indices()
    return _keep_top(table.data.astype(np.float64), table.indices, table.indptr, table.shape[1], options)


def _keep_top(
    value: Floats, token: Integers, offsets: Integers, vocabulary_size: int, options: RelevanceOptions
) -> sp.csr_array:
    """The ``top`` highest of each label as a float32 matrix; ``token`` ascends within a label."""
    kept = np.ones(len(value), dtype=bool)
    for start, stop in pairwise(offsets.tolist()):
        if stop > start and options.normalize == "max":
            value[start:stop] /= value[start:stop].max()
        if stop - start > options.top:
            # As stored, in float32: equal relevance from different tables may differ in the last float64 digit.
            order = np.argsort(-value[start:stop].astype(np.float32), kind="stable")
            kept[start + order[options.top :]] = False
    kept &= value > 0
    lengths = np.concatenate([[0], np.cumsum(kept)])[offsets]
    shape = (len(offsets) - 1, vocabulary_size)
    return sp.csr_array((value[kept].astype(np.float32), token[kept], lengths), shape=shape)
