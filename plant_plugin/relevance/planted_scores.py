"""Planted scores: a linear model of the labels on tf-idf, in closed form, that is added to the network's logits.

What a linear model knows of words and pairs of words costs seconds, a network learns it slowly and forgets the rare
labels. So the logits of a document become ``network + γ · linear``, with one γ for all labels, chosen on validation
documents (``benchmarks/FINDINGS.md``). Where labels have names, their words join the linear model: a label with few
documents, or none, is known by its name. Where texts begin with what they are about, as laws do, words of the beginning
count more.

Shapes: N training documents, L labels, V terms (words and runs of words).
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

from plant_plugin.errors import CheckpointError, DataError
from plant_plugin.files import atomic_write
from plant_plugin.options import PlantedScoresOptions
from plant_plugin.relevance.ridge import solve_ridge

if TYPE_CHECKING:
    from sklearn.feature_extraction.text import TfidfVectorizer

Floats = npt.NDArray[np.float32]

CHOSEN = ("adjustment", "weight", "name_weight", "offset")  # options that null leaves to validation documents
UNSEEN = 0.5  # of the name of a label without training documents
ARRAYS, TERMS = "planted_scores.npz", "planted_scores_terms.json"


class PlantedScores:
    """The linear model, its intercepts and its weight γ.

    Args:
        vectorizer: Turns texts into tf-idf rows of norm 1.
        weights: CSR (L, V) float32.
        lead: How many words are the beginning of a text, and what its tf-idf counts beside that of the whole.
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
        lead: tuple[int, float] = (0, 0.0),
        adjustment: float = 0.0,
        weight: float = 0.0,
        name_weight: float = 0.0,
        offset: float = 0.0,
    ) -> None:
        self.vectorizer, self.weights, self.rarity, self.lead = vectorizer, weights, rarity, lead
        self.adjustment, self.weight, self.name_weight, self.offset = adjustment, weight, name_weight, offset
        self.names: sp.csr_array | None = None  # (L, V), between plant_names and add_names
        self._by_term = sp.csr_array(weights.T)

    @classmethod
    def fit(cls, texts: Sequence[str], labels: sp.csr_array, options: PlantedScoresOptions) -> PlantedScores:
        """Kernel ridge regression of the labels on tf-idf, see :func:`~plant_plugin.relevance.ridge.solve_ridge`.

        Args:
            texts: The N training documents, and no others.
            labels: Their labels, sparse (N, L) of ones.
            options: Which terms there are, and what the solver reads.

        Raises:
            ValueError: ``texts`` and ``labels`` differ in length.
            DataError: No term is in ``options.min_documents`` documents.
        """
        if len(texts) != labels.shape[0]:
            raise ValueError(f"{len(texts)} documents but {labels.shape[0]} rows of labels")
        vectorizer = _vectorizer(options)
        try:
            whole = sp.csr_array(vectorizer.fit_transform(texts))
        except ValueError as error:
            raise DataError(
                f"no word is in {options.min_documents} training documents",
                where="planted_scores.min_documents",
                fix="choose a lower min_documents, or `model: none`",
            ) from error
        targets, lead = labels.astype(np.float32).tocsr(), (options.lead, options.lead_weight)
        weights = solve_ridge(_with_lead(whole, vectorizer, texts, lead), targets, options)
        rarity = label_rarity(targets.sum(axis=0))
        return cls(vectorizer, weights, rarity, lead)

    def features(self, texts: Sequence[str]) -> sp.csr_array:
        """What the weights are for: tf-idf rows (B, V) of norm 1, CSR; with ``lead`` their beginnings count more."""
        return _with_lead(sp.csr_array(self.vectorizer.transform(texts)), self.vectorizer, texts, self.lead)

    def scores(self, texts: Sequence[str]) -> Floats:
        """Linear scores (B, L) of documents: about 1 for a label that is present and 0 for one that is not."""
        return self.scores_of(self.features(texts))

    def scores_of(self, features: sp.csr_array) -> Floats:
        """Linear scores (B, L) of what :meth:`features` made of documents."""
        scores: Floats = (features @ self._by_term).toarray()
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

        Half of it for a label without training documents: it is in hardly any other document either.

        Args:
            names: Of every label; empty where it has none.
            counts: n, training documents of each label, (L,): the more a label has, the less its name tells.
        """
        rows = sp.csr_array(self.vectorizer.transform(names))
        share = np.where(counts > 0, 1 / np.sqrt(1 + counts), UNSEEN)
        self.names = sp.csr_array(sp.diags_array(share.astype(np.float32)) @ rows)

    def name_scores_of(self, features: sp.csr_array) -> Floats:
        """What names add to the linear scores (B, L) at ν = 1; 0 where none were planted."""
        if self.names is None:
            return np.zeros((features.shape[0], self.weights.shape[0]), dtype=np.float32)
        scores: Floats = (features @ self.names.T).toarray()
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
        row = self.features([text])
        own = sp.csr_array(row * self.weights[[label]])
        order = np.argsort(-np.abs(own.data), kind="stable")
        names = self._names
        terms = [(names[term], float(value)) for term, value in zip(own.indices[order], own.data[order], strict=True)]
        return terms, float(self.adjustment * self.rarity[label])

    def strongest(self, label: int, top: int) -> list[tuple[str, float]]:
        """The terms that speak most for a label: weights, the largest first, those above 0; γ is not in them."""
        own = self.weights[[label]]
        order = np.argsort(-own.data, kind="stable")[:top]
        return [(self._names[own.indices[place]], float(own.data[place])) for place in order if own.data[place] > 0]

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
                lead=np.int64(self.lead[0]), lead_weight=np.float64(self.lead[1]),
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
                later = ("lead", "lead_weight", "name_weight", "offset")  # older models lack them
                lead, lead_weight, *chosen = (float(content[key]) if key in content else 0.0 for key in later)
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error) as error:
            what = f"the planted scores cannot be read ({type(error).__name__})"
            raise CheckpointError(what, where=str(folder / ARRAYS), fix="train anew") from error
        if found != labels or len(terms) != weights.shape[1]:
            what = f"the planted scores were made for labels {found[:12]}, the model for {labels[:12]}"
            raise CheckpointError(what, where=str(folder / ARRAYS), fix="use the files of one run")
        vectorizer = _vectorizer(PlantedScoresOptions(ngrams=longest), {term: row for row, term in enumerate(terms)})
        vectorizer.idf_ = frequency
        return cls(vectorizer, weights, rarity, (int(lead), lead_weight), adjustment, weight, *chosen)


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


def _with_lead(
    whole: sp.csr_array, vectorizer: TfidfVectorizer, texts: Sequence[str], lead: tuple[int, float]
) -> sp.csr_array:
    """Tf-idf rows of whole texts plus ``lead``'s share of those of their beginnings, of norm 1 again."""
    words, share = lead
    if not words or not share:
        return whole
    from sklearn.preprocessing import normalize

    beginnings = vectorizer.transform(" ".join(text.split(None, words)[:words]) for text in texts)
    return sp.csr_array(normalize(whole + np.float32(share) * sp.csr_array(beginnings)))


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


def read_weights(folder: Path) -> dict[str, float]:
    """What was chosen for planted scores that were saved in a model's folder, by the name of its option."""
    with np.load(folder / ARRAYS, allow_pickle=False) as content:
        return {name: float(content[name]) for name in CHOSEN if name in content}
