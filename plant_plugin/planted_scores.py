"""Planted scores: a linear model of the labels on tf-idf, in closed form, that is added to the network's logits.

What a linear model knows of words and pairs of words costs seconds, a network learns it slowly and forgets the rare
labels. So the logits of a document become ``network + γ · linear``, with one γ for all labels, chosen on validation
documents (``benchmarks/FINDINGS.md``). Where labels have names, their words join the linear model: a label with few
documents, or none, is known by its name.

Shapes: N training documents, L labels, V terms (words and runs of words), G documents of a group.
"""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import torch

from plant_plugin.errors import CheckpointError, DataError
from plant_plugin.files import atomic_write
from plant_plugin.options import PlantedScoresOptions

if TYPE_CHECKING:
    from sklearn.feature_extraction.text import TfidfVectorizer

Floats = npt.NDArray[np.float32]

CHOSEN = ("adjustment", "weight", "name_weight", "offset")  # options that null leaves to validation documents
ARRAYS, TERMS = "planted_scores.npz", "planted_scores_terms.json"
# A term in a larger share of the documents than this is a dense column: a sparse product takes some 3 ns for each pair
# of documents that both hold the term, a dense one 0.02 ns for each pair of documents.
FREQUENT = 0.05
COLUMNS = 2_048  # dense columns (G, columns) held at once
ROWS = 1_000  # rows of the kernel matrix made at once: the sparse product holds an index beside each value
LABELS = 128  # labels whose dense weights (labels, V) are held at once


class PlantedScores:
    """The linear model, its intercepts and its weight γ.

    Args:
        vectorizer: Turns texts into tf-idf rows of norm 1.
        weights: CSR (L, V) float32.
        rarity: (L,) float32: how much rarer a label is than others, see :func:`label_rarity`.
        adjustment: τ, 0 or more: what a unit of rarity adds to the linear score.
        weight: γ, 0 or more: logits per unit of the linear score.
        name_weight: ν, 0 or more, with which names are in ``weights``, see :meth:`add_names`.
        offset: Taken off every logit, so that the tuned threshold for micro-F1 is the probability 0.5.

    Source:
        Menon et al. 2021, "Long-tail learning via logit adjustment", eq. (9): post-hoc, with one τ.
    """

    def __init__(
        self,
        vectorizer: TfidfVectorizer,
        weights: sp.csr_array,
        rarity: Floats,
        adjustment: float = 0.0,
        weight: float = 0.0,
        name_weight: float = 0.0,
        offset: float = 0.0,
    ) -> None:
        self.vectorizer, self.weights, self.rarity = vectorizer, weights, rarity
        self.adjustment, self.weight, self.name_weight, self.offset = adjustment, weight, name_weight, offset
        self.names: sp.csr_array | None = None  # (L, V), between plant_names and add_names
        self._by_term = sp.csr_array(weights.T)

    @classmethod
    def fit(cls, texts: Sequence[str], labels: sp.csr_array, options: PlantedScoresOptions) -> PlantedScores:
        """Kernel ridge regression of the labels on tf-idf: W = Xᵀ·(X·Xᵀ + λ·I)⁻¹·Y.

        More than ``options.group_size`` documents are dealt into equal groups and the model is the mean of the groups'
        models: time grows with N·G², memory with G².

        Args:
            texts: The N training documents, and no others.
            labels: Their labels, sparse (N, L) of ones.
            options: Penalty λ, longest run of words, how many weights a label keeps.

        Raises:
            ValueError: ``texts`` and ``labels`` differ in length.
            DataError: No term is in ``options.min_documents`` documents.

        Source:
            Kernel ridge regression: Saunders et al. 1998; mean of groups: Zhang, Duchi & Wainwright 2013, "Divide and
            Conquer Kernel Ridge Regression".
        """
        if len(texts) != labels.shape[0]:
            raise ValueError(f"{len(texts)} documents but {labels.shape[0]} rows of labels")
        vectorizer = _vectorizer(options)
        try:
            features = sp.csr_array(vectorizer.fit_transform(texts))
        except ValueError as error:
            raise DataError(
                f"no word is in {options.min_documents} training documents",
                where="planted_scores.min_documents",
                fix="choose a lower min_documents, or `model: none`",
            ) from error
        targets = labels.astype(np.float32).tocsr()
        groups = -(-len(texts) // options.group_size)
        total = sp.csr_array((labels.shape[1], features.shape[1]), dtype=np.float32)
        for group in range(groups):
            # every g-th document: neighbours in a file are often alike, and so each group holds its share of them
            total = total + _group(features[group::groups], targets[group::groups], options)
        weights = sp.csr_array(total / groups) if groups == 1 else _prune(sp.csr_array(total / groups), options.top)
        rarity = label_rarity(targets.sum(axis=0))
        return cls(vectorizer, weights, rarity)

    def scores(self, texts: Sequence[str]) -> Floats:
        """Linear scores (B, L) of documents: about 1 for a label that is present and 0 for one that is not."""
        scores: Floats = (sp.csr_array(self.vectorizer.transform(texts)) @ self._by_term).toarray()
        return scores + np.float32(self.adjustment) * self.rarity

    def add_to(self, logits: Floats, texts: Sequence[str]) -> None:
        """Add γ times the linear scores of B texts to the network's logits (B, L), less the offset; in place.

        One after the other: near the threshold that became the offset the difference is then exact.
        """
        logits += np.float32(self.weight) * self.scores(texts)
        logits -= np.float32(self.offset)

    @property
    def chosen(self) -> dict[str, float]:
        """What was chosen, by the name of its option."""
        return {name: float(getattr(self, name)) for name in CHOSEN}

    def plant_names(self, names: Sequence[str], counts: npt.NDArray[np.integer]) -> None:
        """Make what the labels' names could add to the weights: tf-idf of the name, divided by √(1 + n).

        Args:
            names: Of every label; empty where it has none.
            counts: n, training documents of each label, (L,): the more a label has, the less its name tells.
        """
        rows = sp.csr_array(self.vectorizer.transform(names))
        self.names = sp.csr_array(sp.diags_array((1 / np.sqrt(1 + counts)).astype(np.float32)) @ rows)

    def name_scores(self, texts: Sequence[str]) -> Floats:
        """What names add to the linear scores (B, L) at ν = 1; 0 where none were planted."""
        if self.names is None:
            return np.zeros((len(texts), self.weights.shape[0]), dtype=np.float32)
        scores: Floats = (sp.csr_array(self.vectorizer.transform(texts)) @ self.names.T).toarray()
        return scores

    def add_names(self, weight: float) -> None:
        """Add the names to the weights, ν times; from then on they are part of the linear model."""
        if self.names is not None and weight:
            self.weights = sp.csr_array(self.weights + np.float32(weight) * self.names)
            self._by_term = sp.csr_array(self.weights.T)
            self.name_weight = weight
        self.names = None

    def terms(self, text: str, label: int) -> tuple[list[tuple[str, float]], float]:
        """What each term of a text adds to a label's linear score, the largest first, and what no term adds.

        Their sum is the linear score; neither γ nor the offset is in them.
        """
        row = sp.csr_array(self.vectorizer.transform([text]))
        own = sp.csr_array(row * self.weights[[label]])
        order = np.argsort(-np.abs(own.data), kind="stable")
        names = self._names
        terms = [(names[term], float(value)) for term, value in zip(own.indices[order], own.data[order], strict=True)]
        return terms, float(self.adjustment * self.rarity[label])

    @cached_property
    def _names(self) -> list[str]:
        return sorted(self.vectorizer.vocabulary_, key=self.vectorizer.vocabulary_.__getitem__)

    def save(self, folder: Path, labels: str) -> None:
        """Write terms and weights beside a model.

        Args:
            folder: The model's.
            labels: Hash of the label set.
        """
        with atomic_write(folder / TERMS) as temporary:
            temporary.write_text(json.dumps(self._names, ensure_ascii=False), encoding="utf-8")
        with atomic_write(folder / ARRAYS) as temporary, open(temporary, "wb") as stream:
            np.savez(
                stream, labels=np.array(labels), weight=np.float64(self.weight),
                adjustment=np.float64(self.adjustment), name_weight=np.float64(self.name_weight),
                offset=np.float64(self.offset), rarity=self.rarity,
                longest=np.int64(self.vectorizer.ngram_range[1]),
                frequency=self.vectorizer.idf_.astype(np.float32), shape=np.array(self.weights.shape),
                data=self.weights.data, indices=self.weights.indices, offsets=self.weights.indptr,
            )  # fmt: skip

    @classmethod
    def load(cls, folder: Path, labels: str) -> PlantedScores:
        """Read what :meth:`save` wrote.

        Raises:
            CheckpointError: The files are missing or torn, or belong to another label set.
        """
        try:
            terms = json.loads((folder / TERMS).read_text(encoding="utf-8"))
            with np.load(folder / ARRAYS, allow_pickle=False) as content:
                found, weight, longest = str(content["labels"]), float(content["weight"]), int(content["longest"])
                parts = (content["data"], content["indices"], content["offsets"])
                weights = sp.csr_array(parts, shape=(int(content["shape"][0]), int(content["shape"][1])))
                frequency, rarity, adjustment = content["frequency"], content["rarity"], float(content["adjustment"])
                later = ("name_weight", "offset")  # older models lack them
                name_weight, offset = (float(content[key]) if key in content else 0.0 for key in later)
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error) as error:
            what = f"the planted scores cannot be read ({type(error).__name__})"
            raise CheckpointError(what, where=str(folder / ARRAYS), fix="train anew") from error
        if found != labels or len(terms) != weights.shape[1]:
            what = f"the planted scores were made for labels {found[:12]}, the model for {labels[:12]}"
            raise CheckpointError(what, where=str(folder / ARRAYS), fix="use the files of one run")
        vectorizer = _vectorizer(PlantedScoresOptions(ngrams=longest), {term: row for row, term in enumerate(terms)})
        vectorizer.idf_ = frequency
        return cls(vectorizer, weights, rarity, adjustment, weight, name_weight, offset)


def label_rarity(counts: npt.NDArray[np.number]) -> Floats:
    """Mean of log n over all occurrences of labels, less a label's own log n; 0 for a label that never occurs.

    Args:
        counts: n, training documents of each label, (L,).

    Returns:
        (L,) float32: near 0 for frequent labels, above 0 for rare ones.
    """
    counts = np.asarray(counts, dtype=np.float64)
    logarithm = np.log(np.maximum(counts, 1))
    mean = (counts * logarithm).sum() / max(counts.sum(), 1)
    # Nothing is known of a label without documents: it must not rise above those whose words spoke against them.
    rarity: Floats = np.where(counts > 0, mean - logarithm, 0).astype(np.float32)
    return rarity


def _vectorizer(options: PlantedScoresOptions, vocabulary: dict[str, int] | None = None) -> TfidfVectorizer:
    from sklearn.feature_extraction.text import TfidfVectorizer

    return TfidfVectorizer(
        ngram_range=(1, options.ngrams),
        min_df=1 if vocabulary else options.min_documents,
        max_features=None if vocabulary else options.terms,
        vocabulary=vocabulary,
        sublinear_tf=True,
        dtype=np.float32,
    )


def _group(features: sp.csr_array, targets: sp.csr_array, options: PlantedScoresOptions) -> sp.csr_array:
    """The model of one group of documents: the largest weights of W = αᵀ·X with α = (X·Xᵀ + λ·I)⁻¹·Y, CSR (L, V)."""
    by_column = features.tocsc()
    frequent = np.diff(by_column.indptr) > FREQUENT * features.shape[0]
    order = np.concatenate((np.flatnonzero(frequent), np.flatnonzero(~frequent)))  # of the terms: dense ones first
    dense, rare = by_column[:, order[: frequent.sum()]], sp.csr_array(by_column[:, order[frequent.sum() :]])
    blocks = [dense[:, start : start + COLUMNS] for start in range(0, dense.shape[1], COLUMNS)]
    kernel = _kernel(blocks, rare)
    kernel.diagonal().add_(options.penalty)
    factor = torch.linalg.cholesky(kernel)
    del kernel
    rare_by_term, by_label = sp.csr_array(rare.T), targets.tocsc()
    # One for all blocks of labels: fresh memory costs more than products.
    weights = torch.empty(min(LABELS, targets.shape[1]), len(order))
    rows = []
    for start in range(0, targets.shape[1], LABELS):
        known = torch.from_numpy(by_label[:, start : start + LABELS].toarray())
        part = torch.cholesky_solve(known, factor).contiguous()
        found = weights[: part.shape[1]]
        for column, block in zip(range(0, dense.shape[1], COLUMNS), blocks, strict=True):
            found[:, column : column + block.shape[1]] = part.T @ torch.from_numpy(block.toarray())
        found[:, dense.shape[1] :] = torch.from_numpy(rare_by_term @ part.numpy()).T
        rows.append(_largest(found, order, options.top))
    return sp.csr_array(sp.vstack(rows, format="csr"))


def _kernel(blocks: Sequence[sp.csc_array], rare: sp.csr_array) -> torch.Tensor:
    """X·Xᵀ, (G, G), of columns to be made dense and of those that stay sparse."""
    count = rare.shape[0]
    kernel = torch.zeros(count, count)
    for block in blocks:
        columns = torch.from_numpy(block.toarray())
        kernel.addmm_(columns, columns.T)
    transposed = sp.csr_array(rare.T)
    for start in range(0, count, ROWS):
        kernel[start : start + ROWS] += torch.from_numpy((rare[start : start + ROWS] @ transposed).toarray())
    return kernel


def _largest(weights: torch.Tensor, order: npt.NDArray[np.intp], top: int) -> sp.csr_array:
    """The ``top`` entries of each row that are largest by absolute value.

    Args:
        weights: (rows, V), its columns in ``order``.
        order: The term of each column.
        top: How many.
    """
    kept = weights.abs().topk(min(top, weights.shape[1]), sorted=False).indices
    offsets = np.arange(0, kept.numel() + 1, kept.shape[1])
    parts = (weights.gather(1, kept).numpy().ravel(), order[kept.numpy().ravel()], offsets)
    chosen = sp.csr_array(parts, shape=(weights.shape[0], weights.shape[1]))
    chosen.eliminate_zeros()
    chosen.sort_indices()
    return chosen


def _prune(weights: sp.csr_array, top: int) -> sp.csr_array:
    """The largest weights of each row of a sparse mean of groups, block by block of labels."""
    terms = np.arange(weights.shape[1])
    starts = range(0, weights.shape[0], LABELS)
    blocks = [_largest(torch.from_numpy(weights[row : row + LABELS].toarray()), terms, top) for row in starts]
    return sp.csr_array(sp.vstack(blocks, format="csr"))


def read_weights(folder: Path) -> dict[str, float]:
    """What was chosen for planted scores that were saved in a model's folder, by the name of its option."""
    with np.load(folder / ARRAYS, allow_pickle=False) as content:
        return {name: float(content[name]) for name in CHOSEN if name in content}
