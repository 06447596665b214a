"""A linear model of the labels on tf-idf, in closed form.

Shapes: N training texts, B texts, L labels, V terms.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from plant_plugin.config.options import SHORTLIST_SIZES
from plant_plugin.data.words import splitter_of
from plant_plugin.errors import DataError
from plant_plugin.evaluation.arrays import TRUTHS, WHOLE, ArrayFile
from plant_plugin.relevance.kept_weights import prune
from plant_plugin.relevance.mutual_information import Floats
from plant_plugin.relevance.packed_weights import packed, unpacked
from plant_plugin.relevance.pruned_index import PRUNED_ABOVE, PrunedIndex
from plant_plugin.relevance.ridge import RidgeOptions, solve_ridge
from plant_plugin.relevance.term_table import TermTable
from plant_plugin.relevance.terms import TermRows, Terms, with_lead

LISTED = max(SHORTLIST_SIZES)  # labels whose candidates are scored where a row of all is asked for, of very many
LONGEST_RUN = 2  # words of a term
MOST_TERMS = 500_000  # the most frequent ones are kept
LAST = 5  # bits of a weight, of ten after the point, that are not kept (benchmarks/TRIALS.md)
LONGEST = 1000  # words or letters of a term that a model folder may ask for


@dataclass(eq=False, repr=False)
class LinearModel:
    """Kernel ridge regression on tf-idf rows of norm 1."""

    vectorizer: TermRows
    weights: sp.csr_array  # (L, V) float32
    lead: tuple[int, float]  # words that are the beginning of a text, and what their tf-idf counts beside the whole's

    def __post_init__(self) -> None:
        # What the file holds, within 1.6 % of what was solved; products want 32 bits, and memory has them.
        half = self.weights.data.astype(np.float16)
        if (half != self.weights.data).any():  # not from a file: those of before have all 16 bits, and keep them
            half = ((half.view(np.uint16) + (1 << LAST >> 1)) >> LAST << LAST).view(np.float16)
            self.weights.data = half.astype(np.float32)

    @cached_property
    def _by_term(self) -> TermTable:
        return TermTable.of(self.weights)

    @property
    def pruned(self) -> bool:
        """Tell whether there are so many labels that those of a text are looked up in :attr:`index`."""
        return self.weights.shape[0] > PRUNED_ABOVE

    @cached_property
    def index(self) -> PrunedIndex:
        """Return the index that finds the labels that may score highest for a text."""
        return PrunedIndex.of(self.weights)

    @classmethod
    def fit(
        cls, texts: Sequence[str], labels: sp.csr_array, options: RidgeOptions, terms: Terms | None = None
    ) -> LinearModel:
        """Solve for the weights, see :func:`.solve_ridge`, or :func:`.solve_by_label` by ``options.model``.

        ``texts`` are the N training texts, and no others; ``labels`` are theirs, sparse (N, L) of ones. What terms are
        the options say, unless it is given.

        Raises:
            DataError: No term is in ``options.min_documents`` texts.
        """
        from sklearn.feature_extraction.text import TfidfVectorizer

        splitter = splitter_of(texts)
        kind = terms or Terms(
            1, LONGEST_RUN, word_letters=None if splitter else options.word_letters, splitter=splitter
        )
        counted = TfidfVectorizer(
            analyzer=kind.of,
            min_df=options.min_documents,
            max_features=MOST_TERMS,
            sublinear_tf=True,
            dtype=np.float32,
        )
        try:
            whole = sp.csr_array(counted.fit_transform(texts))
        except ValueError as error:
            what = f"no word is in as many training documents as {options.min_documents}"
            raise DataError(what, where="planted_scores", fix="give more documents, or `model: none`") from error
        vectorizer = TermRows(kind, counted.vocabulary_, counted.idf_)
        lead = (options.lead, options.lead_weight)
        rows = with_lead(whole, vectorizer, texts, lead)
        targets = labels.astype(np.float32).tocsr()
        if options.model_for(*targets.shape) == "label_ridge":
            weights = _by_label(rows, targets, options)
            return cls(vectorizer, weights if labels.shape[1] > PRUNED_ABOVE else prune(weights, options), lead)
        return cls(vectorizer, solve_ridge(rows, targets, options), lead)

    def taught(
        self,
        texts: Sequence[str],
        labels: sp.csr_array,
        again: Sequence[str],
        documents: int,
        options: RidgeOptions,
    ) -> LinearModel:
        """The model with N more texts and their labels (N, L), by recursive least squares.

        The smallest Σ‖y − W·x‖² over the new texts + Σ‖(W − W₀)·x‖² over the ``again`` ones + λ‖W − W₀‖², where W₀ are
        the weights so far. Were ``again`` all texts that these were fitted to, and were terms and frequencies still
        theirs, W would be what :meth:`fit` finds for all texts together; that is not so, which costs little
        (benchmarks/TRIALS.md). Known terms keep their frequency, new ones have that of the N texts; ``documents`` are
        all texts, old and new.

        Source: Plackett 1950, "Some theorems in least squares", for the exact recursion.
        """
        kind, known = self.vectorizer.kind, self.vectorizer.vocabulary
        texts_with = Counter(term for text in texts for term in set(kind.of(text)) if term not in known)
        new = sorted(term for term, count in texts_with.items() if count >= options.min_documents)
        vocabulary = {**known, **{term: len(known) + place for place, term in enumerate(new)}}
        added = [math.log((1 + documents) / (1 + texts_with[term])) + 1 for term in new]  # scikit-learn's
        frequency = np.concatenate([self.vectorizer.frequency, np.array(added, np.float32)])
        rows = TermRows(kind, vocabulary, frequency)
        parts = self.weights.data, self.weights.indices, self.weights.indptr
        weights = sp.csr_array(parts, shape=(self.weights.shape[0], len(vocabulary)))
        features = with_lead(rows.transform([*texts, *again]), rows, [*texts, *again], self.lead)
        missing = sp.csr_array(labels - features[: len(texts)] @ sp.csr_array(weights.T), dtype=np.float32)
        nothing = sp.csr_array((len(again), weights.shape[0]), dtype=np.float32)
        change = solve_ridge(features, sp.csr_array(sp.vstack([missing, nothing], format="csr")), options)
        return replace(self, vectorizer=rows, weights=prune(sp.csr_array(weights + change), options))

    def features(self, texts: Sequence[str]) -> sp.csr_array:
        """Return tf-idf rows (B, V) of norm 1, CSR; with ``lead`` the beginnings of texts count more."""
        return with_lead(self.vectorizer.transform(texts), self.vectorizer, texts, self.lead)

    def scores_of(self, features: sp.csr_array) -> Floats:
        """Scores (B, L) of what :meth:`features` made of texts; with a pruned index those of ``LISTED`` candidates.

        All other labels have then the lowest score of these.
        """
        if not self.pruned:
            return self._by_term.scores(features)
        labels, candidate_scores = self.index.candidates(features, self.weights, LISTED)
        scores: Floats = candidate_scores.min(axis=1, keepdims=True).repeat(self.weights.shape[0], axis=1)
        np.put_along_axis(scores, labels.astype(np.int64), candidate_scores, axis=1)
        return scores

    def without_rare(self, texts: Iterable[str], least: int) -> LinearModel:
        """The model without the terms that fewer texts hold; the others' weights and frequencies stay."""
        kind, known = self.vectorizer.kind, self.vectorizer.vocabulary
        texts_with = Counter(term for text in texts for term in set(kind.of(text)) if term in known)
        columns = [column for column, term in enumerate(self.terms) if texts_with[term] >= least]
        vocabulary = {self.terms[column]: place for place, column in enumerate(columns)}
        rows = TermRows(kind, vocabulary, self.vectorizer.frequency[columns])
        return replace(self, vectorizer=rows, weights=sp.csr_array(self.weights[:, columns]))

    @cached_property
    def terms(self) -> list[str]:
        """The V terms, in column order."""
        return sorted(self.vectorizer.vocabulary, key=self.vectorizer.vocabulary.__getitem__)

    def arrays(self) -> dict[str, npt.ArrayLike]:
        """Return the arrays for :meth:`from_arrays`, which wants the terms too."""
        shortest, longest, letters, word_letters, splitter = self.vectorizer.kind
        return {
            **({"word_letters": np.int64(word_letters)} if word_letters else {}),
            **({"splitter": np.array(splitter)} if splitter else {}),
            "shortest": np.int64(shortest), "longest": np.int64(longest),
            "letters": np.bool_(letters),
            "lead": np.int64(self.lead[0]), "lead_weight": np.float64(self.lead[1]),
            "frequency": self.vectorizer.frequency.astype(np.float32), "shape": np.array(self.weights.shape),
            **packed(self.weights),
        }  # fmt: skip

    @classmethod
    def from_arrays(cls, arrays: ArrayFile, terms: Sequence[str], num_labels: int) -> LinearModel:
        """The model that :meth:`arrays` described, of these terms and so many labels."""
        shape = num_labels, len(terms)
        if (saved_shape := tuple(arrays.array("shape", WHOLE, (2,)).tolist())) != shape:
            arrays.wrong("shape", f"is {saved_shape}, and there are {num_labels:,} labels and {len(terms):,} terms")
        weights = unpacked(arrays, shape)
        weights.data = weights.data.astype(np.float16).astype(np.float32)
        letters = bool(arrays.array("letters", TRUTHS))
        kind = Terms(
            arrays.whole("shortest", low=1, high=LONGEST),
            arrays.whole("longest", low=1, high=LONGEST),
            letters,
            arrays.whole("word_letters", low=1, high=LONGEST) if "word_letters" in arrays else None,
            arrays.text("splitter") if "splitter" in arrays else None,
        )
        frequency = arrays.array("frequency", "f", (len(terms),))
        rows = TermRows(kind, {term: column for column, term in enumerate(terms)}, frequency)
        lead = arrays.whole("lead"), arrays.number("lead_weight")
        return cls(rows, weights, lead)


def _by_label(rows: sp.csr_array, targets: sp.csr_array, options: RidgeOptions) -> sp.csr_array:
    """Solve for weights label by label, on this machine or, where Ray's ``RAY_ADDRESS`` is set, on that cluster."""
    if os.environ.get("RAY_ADDRESS"):
        from plant_plugin.relevance.distributed import solve_on_cluster

        return solve_on_cluster(rows, targets, options)
    from plant_plugin.relevance.label_ridge import solve_by_label  # compiled: a prediction need not wait

    return solve_by_label(rows, targets, options)
