"""How strongly each word of a document speaks for its labels, by every measure that a model offers.

Tokens become the words that a reader sees: sub-words joined, each with its place in the text.

Shapes: M labels that are asked for, W words, T tokens, V terms of the planted scores.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import torch

from plant_plugin.data.batches import move
from plant_plugin.errors import ConfigError
from plant_plugin.evaluation.plausibility import marked_words
from plant_plugin.model.trained import ReadyModel
from plant_plugin.networks.backbone import EmbeddedWords
from plant_plugin.relevance.linear import LinearModel
from plant_plugin.relevance.phrases import Phrases

Floats = npt.NDArray[np.float32]

WORD = re.compile(r"\w+|[^\w\s]")
RUN = re.compile(r"\w+")
BLOCK = 32  # labels at once: bounds the memory of attention and of the copies that gradients need
CONTRIBUTION, ATTENTION, WITHOUT_PRIOR, MIG, LINEAR, GRADIENT, PHRASES, RANDOM = (
    "contribution", "attention", "attention without prior", "MIG", "linear", "gradient × input", "phrases",
    "random",
)  # fmt: skip


@dataclass(frozen=True)
class Words:
    """The words of a text that a model read.

    Attributes:
        spans: (W, 2) int64, first character and the one behind the last.
        of_token: (T,) int64, the word that each token belongs to; -1: none (special tokens, padding).
    """

    spans: npt.NDArray[np.int64]
    of_token: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.spans)

    def summed(self, values: npt.NDArray[np.float32]) -> tuple[npt.NDArray[np.float32], float]:
        """Values of tokens (T,), summed by word (W,), and the sum of those that belong to none."""
        inside = self.of_token >= 0
        summed = np.bincount(self.of_token[inside], weights=values[inside], minlength=len(self))
        return summed.astype(np.float32), float(values[~inside].sum(dtype=np.float64))

    def highest(self, values: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """The highest value (T,), 0 or more, of each word's tokens (W,)."""
        found = np.zeros(len(self), dtype=np.float32)
        inside = self.of_token >= 0
        np.maximum.at(found, self.of_token[inside], values[inside])
        return found


def words_of_tokens(text: str, spans: Sequence[tuple[int, int]]) -> Words:
    r"""Join tokens that begin in the same run of ``\w``; other characters are words by themselves.

    Args:
        text: The document.
        spans: Where each token stands; an empty span belongs to no word.
    """
    runs = np.array([found.start() for found in WORD.finditer(text)], dtype=np.int64)
    starts, ends = _places(text, spans)
    real = starts < ends
    run = np.searchsorted(runs, starts[real], side="right")
    first = np.flatnonzero(np.diff(run, prepend=-1))  # of each word, among the real tokens
    of_token = np.full(len(spans), -1, dtype=np.int64)
    of_token[real] = np.repeat(np.arange(len(first)), np.diff(first, append=len(run)))
    last = np.maximum.reduceat(ends[real], first) if len(first) else first
    return Words(np.stack([starts[real][first], last], axis=1), of_token)


def all_words(text: str, spans: Sequence[tuple[int, int]]) -> Words:
    r"""The runs of ``\w`` of a text, whether a model read them or not: the same words for every model.

    Args:
        text: The document.
        spans: Where each token of the model stands; one that begins in no run belongs to no word.
    """
    runs = np.array([found.span() for found in RUN.finditer(text)], dtype=np.int64).reshape(-1, 2)
    starts, ends = _places(text, spans)
    run = np.searchsorted(runs[:, 0], starts, side="right") - 1
    inside = (run >= 0) & (starts < ends)
    inside[inside] = starts[inside] < runs[run[inside], 1]
    return Words(runs, np.where(inside, run, -1))


def _places(text: str, spans: Sequence[tuple[int, int]]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Where tokens begin and end; byte-level tokens hold the space before them, which is left out."""
    starts = [start + len(text[start:end]) - len(text[start:end].lstrip()) for start, end in spans]
    return np.array(starts, dtype=np.int64), np.array([end for _, end in spans], dtype=np.int64)


class EncodedDocument:
    """One document as a network reads it, encoded once for any number of labels.

    Args:
        predictor: The model.
        text: The document.

    Attributes:
        spans: Where each token stands in the text; one empty span where there is no token.
        tokens: How many there are.
    """

    def __init__(self, predictor: ReadyModel, text: str) -> None:
        self.predictor, self._text, tokens = predictor, text, predictor.model.tokens
        batch = next(iter(predictor.model.batches([text], 1)))
        self._ids = batch["text"][0].numpy()
        self._batch = move(batch, predictor.device)
        with torch.inference_mode():
            self._hidden = predictor.network.encode(self._batch)
        spans = tokens.spans(text, predictor.max_tokens)
        self.tokens, self.spans = len(spans), spans or [(0, 0)]  # no token: one position of padding

    def attention(self, columns: Sequence[int], *, with_prior: bool = True) -> Floats:
        """Shares of the attention (M, T).

        Raises:
            ConfigError: The network does not show its attention.
        """
        try:
            with torch.inference_mode():
                found = self.predictor.network.attention(self._hidden, self._labels(columns), with_prior=with_prior)
        except ValueError as error:
            fix = "let the network define `attention`, see plant_plugin/networks/plantable.py"
            raise ConfigError("the network does not show its attention", where="model_name", fix=fix) from error
        return _numpy(found[0])

    def contributions(self, columns: Sequence[int]) -> tuple[Floats, Floats] | None:
        """Logits that each token adds (M, T), and that none of them adds (M,); None: the network cannot tell."""
        with torch.inference_mode():
            parts = self.predictor.network.contributions(self._hidden, self._labels(columns))
        return None if parts is None else (_numpy(parts[0][0]), _numpy(parts[1][0]))

    def relevance(self, columns: Sequence[int]) -> Floats | None:
        """Relevance of each token's type for the labels (M, T), as in training; None where the run has no table."""
        if self.predictor.relevance is None:
            return None
        rows: Floats = self.predictor.relevance[list(columns)].toarray()
        return rows[:, self._ids].astype(np.float32)

    def gradient_times_input(self, columns: Sequence[int]) -> Floats | None:
        """Gradient of each label's logit by the embedded words, times these (M, T); None without word embeddings.

        Source: Shrikumar et al. 2017, Not Just a Black Box: Learning Important Features Through Propagating Activation
        Differences (gradient × input).
        """
        network = self.predictor.network
        if not isinstance(network.backbone, EmbeddedWords):
            return None
        kept: list[torch.Tensor] = []

        def keep(module: torch.nn.Module, given: object, embedded: torch.Tensor) -> torch.Tensor:
            kept.append(embedded.detach().requires_grad_())
            return kept[0]

        hook = network.backbone.embedding.register_forward_hook(keep)
        # a copy of the document for each label: one pass back gives the gradients of all
        batches = self.predictor.model.batches([self._text] * len(columns), len(columns))
        copies = move(next(iter(batches)), self.predictor.device)
        try:  # cuDNN goes back through recurrent layers in training mode only
            with torch.enable_grad(), torch.backends.cudnn.flags(enabled=False):
                hidden = network.encode(copies)
                logits = network.selected_logits(hidden, self._labels(columns).T)
                (gradient,) = torch.autograd.grad(logits.sum(), kept)
        finally:
            hook.remove()
        return _numpy((gradient * kept[0]).sum(dim=-1).detach())

    def _labels(self, columns: Sequence[int]) -> torch.Tensor:
        return torch.tensor([list(columns)], device=self.predictor.device)


def _numpy(found: torch.Tensor) -> Floats:
    values: Floats = found.float().cpu().numpy()
    return values


def word_strengths(
    predictor: ReadyModel, text: str, columns: Sequence[int], random: np.random.Generator
) -> tuple[Words, dict[str, Floats]]:
    """The words of a document, and order -> strengths (M, W).

    Args:
        predictor: The model.
        text: The document.
        columns: The M labels.
        random: For the order that any other has to beat.

    Raises:
        ConfigError: The network does not show its attention.
    """
    encoded = EncodedDocument(predictor, text)
    words = all_words(text, encoded.spans)
    blocks = [_block(encoded, text, words, columns[start : start + BLOCK]) for start in range(0, len(columns), BLOCK)]
    found = {order: np.concatenate([block[order] for block in blocks]) for order in blocks[0]} if blocks else {}
    found[RANDOM] = random.random((len(columns), len(words)), dtype=np.float32)
    return words, found


def _block(encoded: EncodedDocument, text: str, words: Words, columns: Sequence[int]) -> dict[str, Floats]:
    """All measures of some labels; one more measure of words is one more entry here."""
    predictor = encoded.predictor
    found: dict[str, Floats] = {}
    if any(True for _ in predictor.network.parameters()):  # planted scores alone stand on a network of nothing
        if (parts := encoded.contributions(columns)) is not None:
            found[CONTRIBUTION] = _summed(words, parts[0])
        found[ATTENTION] = _summed(words, encoded.attention(columns))
        if predictor.network.has_prior:
            found[WITHOUT_PRIOR] = _summed(words, encoded.attention(columns, with_prior=False))
        if (gradient := encoded.gradient_times_input(columns)) is not None:
            found[GRADIENT] = _summed(words, gradient)
    if (relevance := encoded.relevance(columns)) is not None:
        found[MIG] = np.stack([words.highest(row) for row in relevance])
    if (planted := predictor.model.planted_scores) is not None:
        found[LINEAR] = linear_strengths(planted.linear, text, words.spans, columns)
        if planted.phrases is not None:
            found[PHRASES] = phrase_strengths(planted.phrases, text, words.spans, columns)
    return found


def _summed(words: Words, values: Floats) -> Floats:
    return np.stack([words.summed(row)[0] for row in values])


def linear_strengths(linear: LinearModel, text: str, words: npt.NDArray[np.int64], columns: Sequence[int]) -> Floats:
    """What the terms at each word add to the linear scores of labels, (M, W).

    What a term adds is shared alike among its places in the text, and there among its words.

    Args:
        linear: The model of whole documents.
        text: The document.
        words: (W, 2) its runs of letters and digits.
        columns: The M labels.
    """
    shown = np.flatnonzero(words[:, 1] - words[:, 0] > 1)  # the vectorizer leaves single characters out
    written = [text[start:end].lower() for start, end in words[shown].tolist()]
    vocabulary, (least, most, _) = linear.vectorizer.vocabulary, linear.vectorizer.kind
    terms: list[int] = []
    places: list[int] = []
    for length in range(least, most + 1):
        for first in range(len(written) - length + 1):
            term = vocabulary.get(" ".join(written[first : first + length]))
            if term is not None:
                terms += [term] * length
                places += shown[first : first + length].tolist()
    shares = 1 / np.bincount(terms, minlength=1)[terms] if terms else np.empty(0)
    at_word = sp.csr_array((shares, (terms, places)), shape=(len(vocabulary), len(words)))
    adds = sp.csr_array(linear.weights[list(columns)].multiply(linear.features([text])))  # (M, V)
    found: Floats = (adds @ at_word).toarray().astype(np.float32)
    return found


def phrase_strengths(phrases: Phrases, text: str, words: npt.NDArray[np.int64], columns: Sequence[int]) -> Floats:
    """What the phrases at each word add to the scores of labels, (M, W): each of a phrase's words has all of it.

    Args:
        phrases: Of the training documents.
        text: The document.
        words: (W, 2) where its words stand.
        columns: The M labels.
    """
    found = np.zeros((len(columns), len(words)), dtype=np.float32)
    row_of = {column: row for row, column in enumerate(columns)}
    for match in phrases.matches(text):
        shares = zip(match.labels.tolist(), match.shares.tolist(), strict=True)
        rows = [(row_of[label], share) for label, share in shares if label in row_of]
        if rows:
            there = marked_words(words, [span for spans in match.spans for span in spans])
            for row, share in rows:
                found[row, there] += share
    return found
