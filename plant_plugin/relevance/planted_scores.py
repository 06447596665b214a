"""Planted scores: knowledge of labels that takes no network and only seconds, added to the network's logits.

A linear model knows words and pairs of words at once, a network learns them slowly and forgets the rare labels. So the
logits of a document become ``network + γ · (λ · linear + bent(phrases) + σ · sentences)``, one γ, λ, σ and bend for all
labels, chosen on validation documents (``benchmarks/TRIALS.md``). Phrases and sentences are there where coders marked
evidence; without it the sum is ``γ · linear``. Where labels have names, their words join the linear model: a label with
few documents, or none, is known by its name.

Shapes: N training documents, B texts, L labels, V terms (words and runs of words).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import torch
from typing_extensions import TypedDict

from plant_plugin.data.text import DocumentEvidence, Spans
from plant_plugin.errors import CheckpointError
from plant_plugin.evaluation.arrays import ArrayFile
from plant_plugin.evaluation.ranking import top_labels
from plant_plugin.files import read_json, write_text
from plant_plugin.relevance.chosen_weights import CHOSEN, ChosenWeights, read_chosen
from plant_plugin.relevance.linear import LinearModel
from plant_plugin.relevance.mined_phrases import MinedPhrases, MinedRuns
from plant_plugin.relevance.mutual_information import Floats, Small, narrow, write_arrays
from plant_plugin.relevance.phrases import Match, Phrases, PlantedPhrases, ReadingWords
from plant_plugin.relevance.pruned_index import CANDIDATES
from plant_plugin.relevance.ridge import RidgeOptions
from plant_plugin.relevance.sentence_scores import SentenceScores

UNSEEN = 0.5  # of the name of a label without training documents
ARRAYS, TERMS, MARKED = "planted_scores.npz", "planted_scores_terms.json", "planted_scores_marked.json"
CELLS = 4_000_000  # scores of texts for all labels that are held at once where only the highest are wanted
SENTENCES, PHRASES = "sentence_", "phrase_"  # what the names of their arrays begin with

Words = TypeVar("Words")


@dataclass(frozen=True, eq=False, repr=False)
class PlantedScores(ChosenWeights):
    """The parts, their weights, and the weight γ of their sum.

    Source: Menon et al. 2021, "Long-tail learning via logit adjustment", eq. (9): post-hoc, with one τ.
    """

    linear: LinearModel  # of whole documents
    rarity: Floats  # (L,) how much rarer a label is than others, see label_rarity
    phrases: Phrases | None = None  # that coders marked, or mined
    sentences: SentenceScores | None = None  # where there is evidence
    names: sp.csr_array | None = None  # (L, V), between with_names and with_name_weight

    @classmethod
    def fit(
        cls,
        texts: Sequence[str],
        labels: sp.csr_array,
        options: RidgeOptions,
        evidence: Sequence[DocumentEvidence] | None = None,
        names: Sequence[str] = (),
        sentences: SentenceScores | None = None,
    ) -> PlantedScores:
        """Fit the linear models; weights are those before any is chosen, phrases are given later.

        Arguments and errors as of :meth:`.LinearModel.fit` and, where there is evidence, :meth:`.SentenceScores.fit`;
        ``sentences`` that are given are not fitted.
        """
        if sentences is None and evidence is not None:
            sentences = SentenceScores.fit(texts, evidence, names, options)
        rarity = label_rarity(labels.sum(axis=0))
        return cls(LinearModel.fit(texts, labels, options), rarity, sentences=sentences)

    def scores(self, texts: Sequence[str]) -> Floats:
        """Return what is added at γ = 1, (B, L); the linear part is about 1 for a label that is present, else 0."""
        linear = self.linear_scores_of(self.linear.features(texts))
        return np.float32(self.linear_weight) * linear + self.evidence_scores(texts)

    def add_scores(self, logits: Floats, scores: Floats) -> None:
        """Add γ times the scores of texts (B, L), or of some of their labels, to the network's logits; in place."""
        logits += np.float32(self.weight) * scores

    @property
    def looked_up(self) -> bool:
        """Tell whether labels are so many that those of a text are looked up, and no others are scored."""
        return self.linear.pruned and self.phrases is None and self.sentences is None

    def top(self, texts: Sequence[str], k: int) -> sp.csr_array:
        """The ``k`` labels of each text that score highest, with their scores at γ = 1; all labels if there are fewer.

        Of as many texts at once as make ``CELLS`` scores, so that memory does not grow with B · L.

        Returns:
            CSR (B, L) float32 of min(k, L) stored entries a row, those of score 0 too, labels ascending. Of equal
            scores the lower labels stay.
        """
        labels = len(self.rarity)
        count = min(k, labels)
        looked_up = self.looked_up
        step = max(1, CELLS // max(1, CANDIDATES * count if looked_up else labels))

        def highest(start: int) -> tuple[Small, Floats]:
            part = texts[start : start + step]
            columns, scores = self._candidates(part, count) if looked_up else (None, self.scores(part))
            best = np.sort(top_labels(scores, count), axis=1)
            labels_of_best = best.astype(np.int32) if columns is None else np.take_along_axis(columns, best, axis=1)
            return labels_of_best.ravel(), np.take_along_axis(scores, best, axis=1).ravel()

        with ThreadPoolExecutor(torch.get_num_threads()) as pool:
            parts = list(pool.map(highest, range(0, len(texts), step)))
        values = np.concatenate([np.empty(0, np.float32), *(scores for _, scores in parts)])
        columns = np.concatenate([np.empty(0, np.int32), *(best for best, _ in parts)])
        offsets = narrow(np.arange(len(texts) + 1) * count)
        return sp.csr_array((values, columns, offsets), shape=(len(texts), labels))

    def _candidates(self, texts: Sequence[str], count: int) -> tuple[Small, Floats]:
        """Return the labels that the pruned index finds for each text, ascending, and their scores at γ = 1."""
        labels, scores = self.linear.index.candidates(self.linear.features(texts), self.linear.weights, count)
        return labels, np.float32(self.linear_weight) * (scores + np.float32(self.adjustment) * self.rarity[labels])

    def proposed(self, texts: Sequence[str], size: int) -> Small:
        """The shortlist of each text: :meth:`top`'s labels, (B, min(size, L)) ascending."""
        shortlist: Small = self.top(texts, size).indices.reshape(len(texts), -1)
        return shortlist

    def linear_scores_of(self, features: sp.csr_array) -> Floats:
        """Linear scores (B, L) of what the linear model's ``features`` made of documents, rarity included."""
        return self.adjusted(self.linear.scores_of(features), self.adjustment)

    def adjusted(self, scores: Floats, adjustment: float) -> Floats:
        """The linear model's scores (B, L) with τ times the rarity; of a pruned index its candidates stay on top."""
        adjusted: Floats = scores + np.float32(adjustment) * self.rarity
        if self.linear.pruned and adjustment:
            others = scores == scores.min(axis=1, keepdims=True)
            lowest = adjusted.min(axis=1, keepdims=True, where=~others, initial=np.inf)
            adjusted = np.where(others, np.where(np.isinf(lowest), scores, lowest), adjusted)
        return adjusted

    def evidence_scores(self, texts: Sequence[str]) -> Floats | np.float32:
        """Return what phrases and sentences add at γ = 1, (B, L), or 0 where there are none."""
        added: Floats | np.float32 = np.float32(0)
        if self.phrases is not None:
            added = added + self.bent(self.phrases.scores(texts))
        if self.sentences is not None and self.sentence_weight:
            added = added + np.float32(self.sentence_weight) * self.sentences.scores(texts)
        return added

    def with_names(self, names: Sequence[str], counts: npt.NDArray[np.integer]) -> PlantedScores:
        """Return scores that know what names (L,), empty where unknown, could add to weights: tf-idf over √(1 + n).

        n (L,) are training documents: the more a label has, the less its name tells. Half of it for a label without
        any: it is in hardly any other document either.
        """
        rows = self.linear.vectorizer.transform(names)
        share = np.where(counts > 0, 1 / np.sqrt(1 + counts), UNSEEN)
        return replace(self, names=sp.csr_array(sp.diags_array(share.astype(np.float32)) @ rows))

    def name_scores_of(self, features: sp.csr_array) -> Floats:
        """Return what names add to the linear scores (B, L) at ν = 1; 0 where none were planted."""
        if self.names is None:
            return np.zeros((features.shape[0], len(self.rarity)), dtype=np.float32)
        scores: Floats = (features @ self.names.T).toarray()
        return scores

    def with_name_weight(self, weight: float) -> PlantedScores:
        """Return scores with the names in the linear model, ν times; nothing else remembers the names."""
        if self.names is None or not weight:
            return replace(self, names=None)
        weights = sp.csr_array(self.linear.weights + np.float32(weight) * self.names)
        return replace(self, linear=replace(self.linear, weights=weights), name_weight=weight, names=None)

    def terms(
        self, text: str, labels: Sequence[int], matches: Sequence[Match]
    ) -> Iterator[tuple[list[tuple[str, float]], float]]:
        """Yield for each label what terms and phrases of a text add to its score, the largest first, and the rest.

        Their sum is the score, a column of :meth:`scores`; γ is not in them. What sentences add
        stands in the rest. ``matches`` are the text's, see :meth:`matches`: it is read once for all labels.
        """
        features, sentences = self.linear.features([text]), None
        if self.sentences is not None and self.sentence_weight:
            sentences = self.sentences.scores([text])[0]
        for label in labels:
            weighted = sp.csr_array(features * self.linear.weights[[label]])
            parts = [
                (self.linear.terms[term], self.linear_weight * float(value))
                for term, value in zip(weighted.indices, weighted.data, strict=True)
            ]
            for spans, share in self.marks(matches, label):
                parts.append((" … ".join(text[start:end] for start, end in spans[0]), share))
            rest = self.linear_weight * float(self.adjustment * self.rarity[label])
            if sentences is not None:
                rest += self.sentence_weight * float(sentences[label])
            yield sorted(parts, key=lambda term: -abs(term[1])), rest

    def matches(self, text: str) -> list[Match]:
        """The phrases in a text."""
        return [] if self.phrases is None else self.phrases.matches(text)

    def marks(self, matches: Sequence[Match], label: int) -> list[tuple[list[Spans], float]]:
        """Return the places where phrases of a text speak for a label, and what each adds to the score at γ = 1."""
        shares = [(match.spans, match.shares[match.labels == label]) for match in matches]
        marks = [(spans, float(share[0])) for spans, share in shares if len(share)]
        if isinstance(self.phrases, MinedPhrases) and marks:  # only the surest decides
            marks = [max(marks, key=lambda mark: mark[1])]
        bent = self.bent_shares(share for _, share in marks)
        return [(spans, share) for (spans, _), share in zip(marks, bent, strict=True)]

    def without_rare(self, texts: Sequence[str], least: int) -> PlantedScores:
        """The scores without terms that fewer of the training texts hold, and phrases that fewer of them hold."""
        sentences = self.sentences and SentenceScores(self.sentences.model.without_rare(texts, least))
        phrases = self.phrases and self.phrases.without_rare(least)
        linear = self.linear.without_rare(texts, least)
        return replace(self, linear=linear, phrases=phrases, sentences=sentences)

    def strongest(self, label: int, top: int) -> list[tuple[str, float]]:
        """The terms that speak most for a label: weights, the largest first, those above 0; γ is not in them."""
        weights = self.linear.weights[[label]]
        order = np.argsort(-weights.data, kind="stable")[:top]
        terms = self.linear.terms
        return [
            (terms[weights.indices[place]], float(weights.data[place])) for place in order if weights.data[place] > 0
        ]

    def save(self, folder: Path, labels: str) -> None:
        """Write terms, phrases and weights beside a model; ``labels`` is the hash of its label set."""
        arrays: dict[str, npt.ArrayLike] = {**self.linear.arrays(), **self.chosen}
        words: dict[str, object] = {}
        if self.sentences is not None:
            arrays |= {SENTENCES + name: value for name, value in self.sentences.model.arrays().items()}
            words["sentence_terms"] = self.sentences.model.terms
        if self.phrases is not None:
            words[self.phrases.kind], arrays_of = self.phrases.content()
            arrays |= {PHRASES + name: value for name, value in arrays_of.items()}
        for name, content in ((TERMS, self.linear.terms), (MARKED, words)):
            write_text(folder / name, json.dumps(content, ensure_ascii=False))
        write_arrays(folder / ARRAYS, {"labels": np.array(labels), "rarity": self.rarity, **arrays})

    @classmethod
    def load(cls, folder: Path, labels: str, num_labels: int | None = None) -> PlantedScores:
        """Read what :meth:`save` wrote for labels whose hash and, where it is known, number is given.

        Raises:
            CheckpointError: The files are missing or torn, or belong to another label set.
        """
        arrays = ArrayFile.read(folder / ARRAYS, "planted scores", fix="train anew")
        if (saved_for := arrays.text("labels")) != labels:
            what = f"the planted scores were made for labels {saved_for[:12]}, the model for {labels[:12]}"
            raise CheckpointError(what, where=str(folder / ARRAYS), fix="use the files of one run")
        rarity = arrays.array("rarity", "f", (num_labels,))
        terms: list[str] = _words(folder / TERMS, list[str])
        linear = LinearModel.from_arrays(arrays, terms, len(rarity))
        sentences, phrases = _marked(folder, arrays, len(rarity))
        return replace(cls(linear, rarity, phrases, sentences), **read_chosen(arrays))  # type: ignore[arg-type]


class MarkedWords(TypedDict, total=False):
    """``planted_scores_marked.json``; of phrases one kind, under its name."""

    sentence_terms: list[str]
    phrases: list[ReadingWords]
    mined: MinedRuns


def _words(path: Path, kind: type[Words]) -> Words:
    """Read a JSON file of the folder, which has to be there."""
    try:
        return read_json(path, kind, what="words of planted scores", fix="train anew")
    except FileNotFoundError as error:
        raise CheckpointError("cannot be read: no such file", where=str(path), fix="train anew") from error


def _marked(folder: Path, arrays: ArrayFile, num_labels: int) -> tuple[SentenceScores | None, Phrases | None]:
    """Sentences and phrases of a folder; None each where it has none."""
    of_sentences, of_phrases = (arrays.under(kind, besides=CHOSEN) for kind in (SENTENCES, PHRASES))
    if not of_sentences.arrays and not of_phrases.arrays:
        return None, None
    words: MarkedWords = _words(folder / MARKED, MarkedWords)
    sentences: SentenceScores | None = None
    phrases: Phrases | None = None
    if of_sentences.arrays:
        terms = words.get("sentence_terms", [])
        sentences = SentenceScores(LinearModel.from_arrays(of_sentences, terms, num_labels))
    if "phrases" in words:
        phrases = PlantedPhrases.from_content(words["phrases"], of_phrases, num_labels)
    elif of_phrases.arrays:
        phrases = MinedPhrases.from_content(words.get("mined", MinedRuns(runs=[])), of_phrases, num_labels)
    return sentences, phrases


def label_rarity(counts: npt.NDArray[np.number]) -> Floats:
    """Mean of log n over all occurrences of labels, less a label's own log n; 0 for a label that never occurs.

    n (L,) are the training documents of each label. What is found (L,) is near 0 for frequent labels, more for rare.
    """
    counts = np.asarray(counts, dtype=np.float64)
    logarithm = np.log(np.maximum(counts, 1))
    mean = (counts * logarithm).sum() / max(counts.sum(), 1)
    # Nothing is known of a label without documents: it must not rise above those whose words spoke against them.
    rarity: Floats = np.where(counts > 0, mean - logarithm, 0).astype(np.float32)
    return rarity


def read_sentences(folder: Path, before: Sequence[str], after: Sequence[str]) -> SentenceScores | None:
    """Read the sentence scores of a model's folder, if it has any, whose labels were ``before`` and shall be ``after``.

    Raises:
        CheckpointError: The file is missing or torn, or of another number of labels.
    """
    sentences, _ = _marked(folder, ArrayFile.read(folder / ARRAYS, "planted scores", fix="train anew"), len(before))
    if sentences is None:
        return None
    place = {label: row for row, label in enumerate(after)}
    known = [row for row, label in enumerate(before) if label in place]
    ones, rows = np.ones(len(known), np.float32), [place[before[row]] for row in known]
    moved = sp.csr_array((ones, (rows, known)), shape=(len(after), len(before)))
    return SentenceScores(replace(sentences.model, weights=sp.csr_array(moved @ sentences.model.weights)))


def read_weights(folder: Path) -> dict[str, float]:
    """Read the weights that were chosen for the planted scores of a model's folder, by name."""
    return read_chosen(ArrayFile.read(folder / ARRAYS, "planted scores", fix="train anew"))
