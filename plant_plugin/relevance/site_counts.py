"""Counts that the relevance is made of, taken where the documents lie: sites add up counts and share no documents.

A file says of each label, each token type and each pair of the two how many documents have it. What fewer than
``min_count`` documents have is left out, names included, before the file is written. Counts are sums: with
``min_count`` 1 what several sites add up to is what one site with all documents counts. Sites need neither the same
labels nor the same vocabulary: names are matched, not numbers.

Shapes: N documents, L labels, V token types.
"""

from __future__ import annotations

import functools
import json
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from plant_plugin.config.options import RelevanceOptions
from plant_plugin.data.tokens import TokenArrays, Tokens
from plant_plugin.errors import DataError
from plant_plugin.evaluation.arrays import WHOLE, ArrayFile
from plant_plugin.relevance import mutual_information as single
from plant_plugin.relevance.mutual_information import Integers, Margins, Relevance, Small

FORMAT_VERSION = 1
PAIRS = RelevanceOptions()  # documents of pairs that meet
HIGHEST = int(np.iinfo(np.int32).max)
FIX = "write it anew with `plant relevance CONFIG --counts FILE.npz`"


@dataclass(frozen=True)
class SiteCounts:
    """Documents of labels, token types and pairs; of one site or of several."""

    cut: str  # what the token types are: the class of the vocabulary
    min_count: int  # the least count that a site gives away
    documents: int  # N
    labels: Sequence[str]  # (L,)
    types: Sequence[str]  # (V,)
    label_documents: Integers  # n_l, (L,)
    type_documents: Integers  # n_t, (V,)
    pairs: sp.csr_array  # n_lt (L, V) int32

    @classmethod
    def of(
        cls, arrays: TokenArrays, labels: sp.csr_array, names: Sequence[str], tokens: Tokens, min_count: int
    ) -> SiteCounts:
        """Count the token types (of ``tokens``) and labels (N, L; their ``names``) of documents."""
        counts, blocks = single.count_documents(arrays, labels, tokens.size, tokens.special_ids, PAIRS), []
        for part in single.blocks_of(counts.cells, single.BLOCK_CELLS):
            block = counts.table(part)
            block.data[block.data < min_count] = 0
            block.eliminate_zeros()
            blocks.append(block)
        documents, of_labels, of_types = counts.margins
        kept_labels, kept_types = (np.flatnonzero(margin >= max(1, min_count)) for margin in (of_labels, of_types))
        pairs = sp.csr_array(sp.vstack(blocks, format="csr"))[kept_labels][:, kept_types]
        own_names = [names[int(label)] for label in kept_labels]
        own_types = [tokens.token(int(token)) for token in kept_types]
        parts = (own_names, own_types, of_labels[kept_labels], of_types[kept_types], pairs)
        return cls(type(tokens).__name__, min_count, documents, *parts)

    def aligned(self, labels: Sequence[str], types: Sequence[str]) -> SiteCounts:
        """Return the counts of these labels and token types in this order: others are left out, new ones have 0."""
        rows, columns = _places(self.labels, labels), _places(self.types, types)
        pairs = sp.coo_array(self.pairs)
        row, column = rows[pairs.row], columns[pairs.col]
        both = (row >= 0) & (column >= 0)
        moved = sp.csr_array((pairs.data[both], (row[both], column[both])), shape=(len(labels), len(types)))
        moved.sort_indices()
        of_labels, of_types = np.zeros(len(labels), np.int64), np.zeros(len(types), np.int64)
        of_labels[rows[rows >= 0]] = self.label_documents[rows >= 0]
        of_types[columns[columns >= 0]] = self.type_documents[columns >= 0]
        return SiteCounts(self.cut, self.min_count, self.documents, labels, types, of_labels, of_types, moved)

    def relevance(self, labels: Sequence[str], tokens: Tokens, options: RelevanceOptions) -> Relevance:
        """The relevance of ``tokens`` for ``labels``; with all counts what :func:`.compute_relevance` gives."""
        here = self.aligned(labels, [tokens.token(token) for token in range(tokens.size)])
        margins = Margins(self.documents, here.label_documents, here.type_documents)
        return Relevance(single.values_of(here.pairs, slice(0, len(labels)), margins, options))

    def save(self, path: Path) -> None:
        """Write an ``.npz`` file of plain arrays; names are JSON in UTF-8."""
        single.write_arrays(path, {
            "counts_version": np.int64(FORMAT_VERSION), "cut": np.array(self.cut),
            "documents": np.int64(self.documents), "min_count": np.int64(self.min_count),
            "labels": _packed(self.labels), "types": _packed(self.types),
            "label_documents": self.label_documents, "type_documents": self.type_documents,
            "data": self.pairs.data, "indices": self.pairs.indices, "indptr": self.pairs.indptr,
        })  # fmt: skip

    @classmethod
    def load(cls, path: Path) -> SiteCounts:
        """Read what :meth:`save` wrote, from a site that is not to be believed.

        Raises:
            DataError: No such file, or its counts cannot be counts of the same documents; the array is named.
        """
        file = ArrayFile.read(path, "counts of relevance", fix=FIX, error=DataError)
        if (version := file.whole("counts_version")) != FORMAT_VERSION:
            file.wrong("counts_version", f"is {version}, expected {FORMAT_VERSION}")
        documents = file.whole("documents")
        labels, types = (_unpacked(file, name) for name in ("labels", "types"))
        of_labels = file.array("label_documents", WHOLE, (len(labels),), low=1, high=documents).astype(np.int64)
        of_types = file.array("type_documents", WHOLE, (len(types),), low=1, high=documents).astype(np.int64)
        pairs = file.rows(("data", "indices", "indptr"), (len(labels), len(types)), kinds=WHOLE, ordered=True)
        row = np.repeat(np.arange(len(labels)), np.diff(pairs.indptr))
        if (pairs.data < 1).any() or (pairs.data > np.minimum(of_labels[row], of_types[pairs.indices])).any():
            file.wrong("data", "holds a pair in no document, or in more than its label or its word")
        pairs = sp.csr_array(
            (pairs.data.astype(np.int32), pairs.indices, pairs.indptr), shape=(len(labels), len(types))
        )
        return cls(
            file.text("cut"), file.whole("min_count", low=1), documents, labels, types, of_labels, of_types, pairs
        )


def merged(sites: Sequence[tuple[Path, SiteCounts]]) -> SiteCounts:
    """The sum of what the sites' files hold, names in ascending order.

    Raises:
        DataError: Sites that cut texts into words and into sub-words, or more documents than 2³¹.
    """
    first_path, first = sites[0]
    for path, site in sites[1:]:
        if site.cut != first.cut:
            what = f"counts {site.cut}, {first_path} counts {first.cut}"
            raise DataError(what, where=str(path), fix="count with the same lm_weight, or without, at every site")
    documents = sum(site.documents for _, site in sites)
    if documents > HIGHEST:
        raise DataError(f"{documents:,} documents, at most {HIGHEST:,} are counted", where=str(sites[-1][0]))
    labels = sorted({name for _, site in sites for name in site.labels})
    types = sorted({name for _, site in sites for name in site.types})
    aligned = [site.aligned(labels, types) for _, site in sites]
    of_labels = np.sum([here.label_documents for here in aligned], axis=0)
    of_types = np.sum([here.type_documents for here in aligned], axis=0)
    pairs = functools.reduce(operator.add, (here.pairs for here in aligned))
    min_count = max(site.min_count for _, site in sites)
    return SiteCounts(first.cut, min_count, documents, labels, types, of_labels, of_types, pairs)


def _places(names: Sequence[str], among: Sequence[str]) -> Small:
    """Return the place of each of the names among others; -1 where it is not there."""
    place = {name: number for number, name in enumerate(among)}
    return np.array([place.get(name, -1) for name in names], dtype=np.int32)


def _packed(names: Sequence[str]) -> npt.NDArray[np.uint8]:
    return np.frombuffer(json.dumps(list(names), ensure_ascii=False).encode(), dtype=np.uint8)


def _unpacked(file: ArrayFile, name: str) -> list[str]:
    try:
        names = json.loads(file.array(name, "u", (None,), high=255).tobytes().decode())
    except (ValueError, RecursionError):
        names = None
    if not isinstance(names, list) or not all(isinstance(text, str) for text in names) or len({*names}) < len(names):
        file.wrong(name, "is no list of different names")
    return names
