"""Strengths of words: how much each speaks for the labels of a document, by every measure that a model offers.

Tokens become the words that a reader sees: sub-words joined, each with its place in the text.

Shapes: M labels that are asked for, W words, T tokens, V terms of the planted scores.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch

from plant_plugin.data.batches import move
from plant_plugin.data.words import words_by
from plant_plugin.errors import ConfigError
from plant_plugin.model.named_evidence import strengths_of_names
from plant_plugin.model.term_strengths import linear_strengths, phrase_strengths
from plant_plugin.model.trained import Floats, Places, ReadyModel
from plant_plugin.networks.backbone import EmbeddedWords
from plant_plugin.relevance.phrases import Match

BLOCK = 32  # labels at once: bounds the memory of attention and of the copies that gradients need
CONTRIBUTION, ATTENTION, WITHOUT_PRIOR, GRADIENT, MIG, LINEAR, PHRASES, RANDOM = (
    "contribution", "attention", "attention without prior", "gradient × input", "MIG", "linear", "phrases",
    "random",
)  # fmt: skip
EXPLAINED = (CONTRIBUTION, ATTENTION, MIG, PHRASES)  # that explanations show, and that their passages can go by
OF_SCORES = (CONTRIBUTION, MIG, PHRASES)  # and without a network
PARTS = ("learned", "static", "differentiable")  # of an attention that is a sum: the first PLANT's A, S and P
WITHOUT_NETWORK = (MIG, LINEAR, PHRASES)
EVERY = (CONTRIBUTION, ATTENTION, WITHOUT_PRIOR, GRADIENT, *WITHOUT_NETWORK)


@dataclass(frozen=True)
class Words:
    """The words of a text that a model read."""

    spans: Places  # (W, 2) first character and the one after the last
    of_token: Places  # (T,) the word that each token belongs to; -1: none (special tokens, padding)

    def __len__(self) -> int:
        return len(self.spans)

    def summed(self, values: Floats) -> tuple[Floats, Floats]:
        """Sum values of tokens (…, T) by word (…, W); also the sum (…) of those that belong to none."""
        inside = self.of_token >= 0
        of_token, size = self.of_token[inside], len(self)
        summed = np.apply_along_axis(lambda row: np.bincount(of_token, row, size), -1, values[..., inside])
        return summed.astype(np.float32), values[..., ~inside].sum(axis=-1, dtype=np.float64)

    def highest(self, values: Floats) -> Floats:
        """Return the highest value (…, T), 0 or more, of each word's tokens (…, W)."""
        highest = np.zeros((*values.shape[:-1], len(self)), np.float32)
        inside = self.of_token >= 0
        np.maximum.at(highest.T, self.of_token[inside], values[..., inside].T)
        return highest


def words_of_tokens(text: str, spans: Sequence[tuple[int, int]], splitter: str | None = None) -> Words:
    r"""Join tokens that begin in the same run of ``\w``; other characters are words by themselves.

    ``spans`` is the place of each token; an empty span belongs to no word.
    """
    runs = words_by(splitter).shown(text, signs=True)[:, 0]
    starts, ends = _places(text, spans)
    real = starts < ends
    run = np.searchsorted(runs, starts[real], side="right")
    first = np.flatnonzero(np.diff(run, prepend=-1))  # of each word, among the real tokens
    of_token = np.full(len(spans), -1, np.int64)
    of_token[real] = np.repeat(np.arange(len(first)), np.diff(first, append=len(run)))
    last = np.maximum.reduceat(ends[real], first) if len(first) else first
    return Words(np.stack([starts[real][first], last], axis=1), of_token)


def all_words(text: str, spans: Sequence[tuple[int, int]], splitter: str | None = None) -> Words:
    r"""Return the runs of ``\w`` of a text, read by a model or not: the same words for every model.

    A token that begins in no run belongs to no word.
    """
    runs = words_by(splitter).shown(text, signs=False)
    starts, ends = _places(text, spans)
    run = np.searchsorted(runs[:, 0], starts, side="right") - 1
    inside = (run >= 0) & (starts < ends)
    inside[inside] = starts[inside] < runs[run[inside], 1]
    return Words(runs, np.where(inside, run, -1))


def _places(text: str, spans: Sequence[tuple[int, int]]) -> tuple[Places, Places]:
    """Return where tokens begin and end, without the space before them that byte-level tokens hold."""
    starts = [end - len(text[start:end].lstrip()) for start, end in spans]
    return np.array(starts, np.int64), np.array([end for _, end in spans], np.int64)


class EncodedDocument:
    """One document as a network reads it, encoded once for any number of labels.

    Attributes:
        spans: The place of each token in the text; one empty span where there is no token.
        tokens: How many there are.
    """

    def __init__(self, predictor: ReadyModel, text: str) -> None:
        self.predictor, self.text = predictor, text
        batch = next(iter(predictor.batches([text], 1)))
        self.ids = batch["text"][0].numpy()
        with torch.inference_mode():
            self.hidden = predictor.network.encode(move(batch, predictor.device))
        spans = predictor.tokens.spans(text, predictor.max_tokens)
        self.tokens, self.spans = len(spans), spans or [(0, 0)]  # no token: one position of padding

    @torch.inference_mode()
    def attention(self, columns: Sequence[int], *, with_prior: bool = True) -> Floats:
        """Return shares of the attention (M, T).

        Raises:
            ConfigError: The network does not show its attention.
        """
        try:
            attention = self.predictor.network.attention(self.hidden, self.labels(columns), with_prior=with_prior)
        except ValueError as error:
            fix = "let the network define `attention`, see plant_plugin/networks/plantable.py"
            raise ConfigError("the network does not show its attention", where="model_name", fix=fix) from error
        return _numpy(attention[0])

    @cached_property
    def phrase_matches(self) -> list[Match]:
        """Match the planted phrases with the text."""
        planted = self.predictor.planted_scores
        return [] if planted is None else planted.matches(self.text)

    def gradient_times_input(self, columns: Sequence[int]) -> Floats | None:
        """Multiply each logit's gradient by the embedded words with these (M, T); None without word embeddings.

        Source: Shrikumar et al. 2017, Not Just a Black Box: Learning Important Features Through Propagating Activation
        Differences (gradient × input).
        """
        network = self.predictor.network
        if not isinstance(network.backbone, EmbeddedWords):
            return None
        embedded_words: list[torch.Tensor] = []

        def keep(module: torch.nn.Module, inputs: object, embedded: torch.Tensor) -> torch.Tensor:
            embedded_words.append(embedded.detach().requires_grad_())
            return embedded_words[0]

        hook = network.backbone.embedding.register_forward_hook(keep)
        # a copy of the document for each label: one pass back gives the gradients of all
        batches = self.predictor.batches([self.text] * len(columns), len(columns))
        copies = move(next(iter(batches)), self.predictor.device)
        try:  # cuDNN goes back through recurrent layers in training mode only
            with torch.enable_grad(), torch.backends.cudnn.flags(enabled=False):
                hidden = network.encode(copies)
                logits = network.selected_logits(hidden, self.labels(columns).T)
                (gradient,) = torch.autograd.grad(logits.sum(), embedded_words)
        finally:
            hook.remove()
        return _numpy((gradient * embedded_words[0]).sum(dim=-1).detach())

    def labels(self, columns: Sequence[int]) -> torch.Tensor:
        """Return columns as the network takes them, (1, M)."""
        return torch.tensor([list(columns)], device=self.predictor.device)


def _numpy(tensor: torch.Tensor) -> Floats:
    return tensor.float().cpu().numpy()


@strengths_of_names
def label_strengths(
    encoded: EncodedDocument, words: Words, columns: Sequence[int], orders: Collection[str]
) -> Iterator[tuple[dict[str, Floats], float, float]]:
    """Yield of each label the measures asked for, as far as the model has them, bias and elsewhere.

    A measure is the order of the words -> (W,) what it goes by. The bias are the logits that the label has in any
    document, elsewhere those that special tokens add; both are 0 where the network has no such sum.

    Raises:
        ConfigError: The network does not show its attention.
    """
    for start in range(0, len(columns), BLOCK):
        block = columns[start : start + BLOCK]
        measures, bias, elsewhere = _measures(encoded, words, block, orders)
        for row in range(len(block)):
            yield {order: values[row] for order, values in measures.items()}, float(bias[row]), float(elsewhere[row])


def _measures(
    encoded: EncodedDocument, words: Words, columns: Sequence[int], orders: Collection[str]
) -> tuple[dict[str, Floats], Floats, Floats]:
    """Return order -> (M, W), bias and elsewhere (M,); one more measure of words is one more entry here."""
    predictor, labels = encoded.predictor, encoded.labels(columns)
    network, planted = predictor.network, predictor.planted_scores
    measures: dict[str, Floats] = {}
    bias = elsewhere = np.zeros(len(columns), np.float32)
    with torch.inference_mode():
        added = network.contributions(encoded.hidden, labels) if CONTRIBUTION in orders else None
        parts = network.attention_parts(encoded.hidden, labels) if set(PARTS) & set(orders) else {}
    if added is not None:
        measures[CONTRIBUTION], elsewhere = words.summed(_numpy(added[0][0]))
        bias = _numpy(added[1][0])
    if ATTENTION in orders:
        measures[ATTENTION], _ = words.summed(encoded.attention(columns))
    measures |= {name: words.summed(_numpy(part[0]))[0] for name, part in parts.items()}
    if WITHOUT_PRIOR in orders and network.has_prior:
        measures[WITHOUT_PRIOR], _ = words.summed(encoded.attention(columns, with_prior=False))
    if GRADIENT in orders and (gradient := encoded.gradient_times_input(columns)) is not None:
        measures[GRADIENT], _ = words.summed(gradient)
    if MIG in orders and predictor.relevance is not None:
        measures[MIG] = words.highest(predictor.relevance[list(columns)].toarray()[:, encoded.ids].astype(np.float32))
    if LINEAR in orders and planted is not None:
        measures[LINEAR] = linear_strengths(planted.linear, encoded.text, words.spans, columns)
    if PHRASES in orders and planted is not None and planted.phrases is not None:
        measures[PHRASES] = phrase_strengths(encoded.phrase_matches, words.spans, columns)
    return measures, bias, elsewhere


def word_strengths(predictor: ReadyModel, text: str, columns: Sequence[int]) -> tuple[Words, dict[str, Floats]]:
    """Return the words of a document, and order -> strengths (M, W), by every measure but ``RANDOM``.

    Raises:
        ConfigError: The network does not show its attention.
    """
    encoded = EncodedDocument(predictor, text)
    words = all_words(text, encoded.spans, predictor.tokens.splitter)
    orders = EVERY if predictor.has_network else WITHOUT_NETWORK
    rows = [measures for measures, _, _ in label_strengths(encoded, words, columns, orders)]
    return words, {order: np.stack([row[order] for row in rows]) for order in rows[0]} if rows else {}
