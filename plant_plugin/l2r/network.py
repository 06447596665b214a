"""The first PLANT: a ranker of tokens for labels, and label attention as the sum of a learned and two planted parts.

Shape key: **B** documents · **T** token positions · **S** positions of a segment · **L** labels · **V** words · **U**
distinct words of a batch · **E** width of one direction's states · **M** chosen labels of a document.
"""

from __future__ import annotations

from dataclasses import fields
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint
from typing_extensions import override

from plant_plugin.config.problems import read_options
from plant_plugin.config.values import Value
from plant_plugin.l2r import options as arguments
from plant_plugin.l2r.encoder import AwdLstmBackbone
from plant_plugin.l2r.pair_scores import ranker_scores
from plant_plugin.networks.attention_head import LabelwiseHead
from plant_plugin.networks.plantable import Hidden, PlantableNetwork

RARE = -4.6  # the first logit of all labels, one document in a hundred: to learn it takes half of a training
BLOCK_ELEMENTS = 2**21  # of (B, S, L) where there is no gradient
LOWEST = -1e30  # below every score, and finite


class Ranker(nn.Module):
    """f(l, t): how relevant a token is for a label, from the embeddings of both, by two layers.

    ``W₁ [e_l; e_t] = A e_l + C e_t``: the halves are computed once for each label and token, never for each pair.

    Source: first PLANT, equations 1 and 2 with L = 2 and a = ReLU.
    """

    def __init__(self, num_labels: int, vocabulary: int, size: int, hidden: int) -> None:
        super().__init__()
        self.label, self.token = nn.Embedding(num_labels, size), nn.Embedding(vocabulary, size)
        self.of_label, self.of_token = nn.Linear(size, hidden, bias=False), nn.Linear(size, hidden)
        self.weight, self.bias = nn.Parameter(torch.empty(hidden)), nn.Parameter(torch.zeros(()))
        nn.init.uniform_(self.weight, -1.0, 1.0)
        self.weight.data /= hidden**0.5

    def forward(self, tokens: Tensor, labels: Tensor | None = None) -> Tensor:
        """Return scores (U, L) of all labels for tokens (U,), or (U, M) of chosen labels (M,)."""
        embedded = self.label.weight if labels is None else self.label(labels)
        return ranker_scores(self.of_token(self.token(tokens)), self.of_label(embedded), self.weight) + self.bias

    def of_pairs(self, labels: Tensor, tokens: Tensor) -> Tensor:
        """Return scores (M, K) of labels (M,), each for its own tokens (M, K)."""
        hidden = self.of_token(self.token(tokens)) + self.of_label(self.label(labels))[:, None]
        return hidden.relu() @ self.weight + self.bias


class Reading(NamedTuple):
    """A softmax over the positions read so far, and the sum that it weighs, of all labels (B, L)."""

    highest: Tensor
    total: Tensor
    read: Tensor

    def extended(self, scores: Tensor, contributions: Tensor) -> Reading:
        """Read further positions: scores, −∞ where there is no weight, and contributions (B, S, L)."""
        highest = torch.maximum(self.highest, scores.detach().amax(dim=1))
        weights, before = (scores - highest[:, None]).exp(), (self.highest - highest).exp()
        read = self.read * before + (weights * contributions).sum(dim=1)
        return Reading(highest, self.total * before + weights.sum(dim=1), read)


class Planted(NamedTuple):
    """Tables of the planted parts of a batch's attention, by word; None: there is no such part."""

    columns: Tensor  # (B, T) the tables' row of each position
    scores: Tensor | None  # (U, L) of the ranker
    lowest: Tensor | None  # (B, L) the lowest score that inattention keeps in a document
    relevance: Tensor | None  # (U, L), and more rows for `marks`
    marks: Tensor | None  # (B, T) a further row of the relevance

    def part(self, positions: slice) -> Planted:
        """Return the planted parts of a segment."""
        marks = None if self.marks is None else self.marks[:, positions]
        return self._replace(columns=self.columns[:, positions], marks=marks)


class PlantedHead(LabelwiseHead):
    """``logit = Σ_e ((A + S + P)ᵀ H ⊙ W)_e + b``: learned, static and differentiable attention, segment by segment.

    ``A = softmax_t(h_t · u_l)``; ``S = g(l, t)``, the planted relevance times ``static``; ``P = softmax_t(f(l, t))`` by
    the ranker. Inattention keeps the ``inattention`` highest positions of a document, and ties with the last of them;
    the others get no weight in P. The paper's formula keeps the positions *above* the k-th highest, its text the k
    highest. With all 72 of a segment kept there is no inattention, which is the text.

    The decoder is stateful: after each segment of ``segment_tokens`` the state D is (for A and for P) the highest
    score, the sum of exponentials and the weighted sum so far. With this φ, D after the last segment is the V of the
    whole document. The backward pass computes a segment's weights again, so that only one segment's weights exist.

    Source: first PLANT, equations 5 to 8, A.5, and section 3.2 (stateful decoder), which leaves φ open.
    """

    def __init__(self, size: int, num_labels: int, ranker: Ranker | None, options: arguments.PLANTL2R) -> None:
        super().__init__(size, num_labels)
        nn.init.constant_(self.output.bias, RARE)
        self.ranker, self.options = ranker, options

    def planted(self, hidden: Hidden) -> Planted:
        """Return the tables of a batch; scores that inattention drops have no gradient."""
        assert hidden.text is not None
        types, columns = torch.unique(hidden.text, return_inverse=True)
        scores = None if self.ranker is None else self.ranker(types)
        relevance, marks = None, None
        if hidden.prior is not None and self.options.static:
            relevance = (hidden.prior.dense().t() * self.options.static).to(hidden.states.device)
            marks = hidden.prior.marks
        lowest = None
        if scores is not None and self.options.inattention is not None:
            lowest = lowest_kept(scores.detach(), columns, hidden.mask, self.options.inattention)
        return Planted(columns, scores, lowest, relevance, marks)

    @override
    def forward(self, hidden: Hidden) -> Tensor:
        """Return logits (B, L); sums and softmaxes are in the type of the parameters, also under autocast."""
        with torch.autocast(hidden.states.device.type, enabled=False):
            return self._read(hidden)

    def _read(self, hidden: Hidden) -> Tensor:
        planted, states = self.planted(hidden), self._wide(hidden.states)
        zero = states.new_zeros(len(states), self.num_labels)
        nothing = Reading(torch.full_like(zero, LOWEST), zero, zero)
        state = (nothing, nothing, zero)
        width = self.options.segment_tokens or states.shape[1]
        if not torch.is_grad_enabled():
            width = min(width, max(1, BLOCK_ELEMENTS // zero.numel()))
        again = torch.is_grad_enabled() and states.shape[1] > width
        # split and not sliced: each slice's gradient would be as long as the document
        for first, segment in zip(range(0, states.shape[1], width), states.split(width, dim=1), strict=True):
            positions = slice(first, first + width)
            operands = state, segment, hidden.mask[:, positions], planted.part(positions)
            if again:
                state = checkpoint(self._segment, *operands, use_reentrant=False, preserve_rng_state=False)
            else:
                state = self._segment(*operands)
        learned, differentiable, static = state
        logits = self.output.bias + learned.read / learned.total + static
        return logits if planted.scores is None else logits + differentiable.read / differentiable.total

    def _segment(
        self, state: tuple[Reading, Reading, Tensor], states: Tensor, mask: Tensor, planted: Planted
    ) -> tuple[Reading, Reading, Tensor]:
        learned, differentiable, static = state
        padding, contributions = ~mask[..., None], states @ self.output.weight.t()  # (B, S, L)
        scores = (states @ self.query.weight.t()).masked_fill(padding, float("-inf"))
        learned = learned.extended(scores, contributions)
        if planted.scores is not None:
            scores = functional.embedding(planted.columns, planted.scores)
            lowest = None if planted.lowest is None else planted.lowest[:, None]
            differentiable = differentiable.extended(self._after_inattention(scores, lowest, padding), contributions)
        if planted.relevance is not None:
            relevance = self._static(planted)
            static = static + (relevance.masked_fill(padding, 0.0) * contributions).sum(dim=1)
        return learned, differentiable, static

    def _after_inattention(self, scores: Tensor, lowest: Tensor | None, padding: Tensor) -> Tensor:
        """Return the ranker's scores, −∞ where inattention or padding drops them."""
        if lowest is not None:
            scores = scores.masked_fill(scores < lowest, float("-inf"))
        return scores.masked_fill(padding, float("-inf"))

    def _static(self, planted: Planted) -> Tensor:
        assert planted.relevance is not None
        static = functional.embedding(planted.columns, planted.relevance)
        return static if planted.marks is None else static + functional.embedding(planted.marks, planted.relevance)

    def logits(self, hidden: Hidden) -> Tensor:
        """Return the logits (B, L), by the method's name in a network."""
        return self.forward(hidden)

    @override
    def selected_logits(self, hidden: Hidden, labels: Tensor) -> Tensor:
        return self.forward(hidden).gather(1, labels)

    def parts(self, hidden: Hidden, labels: Tensor) -> dict[str, Tensor]:
        """Return A, S and P (B, M, T) of chosen labels (B, M); 0 on padding.

        Without inattention P is the ranker's softmax.
        """
        planted, padding = self.planted(hidden), ~hidden.mask[:, None]
        parts = {"learned": super().attention(hidden, labels)}

        def of_labels(table: Tensor) -> Tensor:
            return table.transpose(1, 2).gather(1, labels[..., None].expand(-1, -1, table.shape[1]))

        if planted.relevance is not None:
            parts["static"] = of_labels(self._static(planted)).masked_fill(padding, 0.0)
        if planted.scores is not None:
            scores = of_labels(functional.embedding(planted.columns, planted.scores))
            lowest = None if planted.lowest is None else planted.lowest.gather(1, labels)[..., None]
            parts["differentiable"] = self._after_inattention(scores, lowest, padding).softmax(dim=-1)
        return parts

    @override
    def attention(self, hidden: Hidden, labels: Tensor, *, with_prior: bool = True) -> Tensor:
        """Return A + S + P (B, M, T) of chosen labels (B, M), scaled to sum 1."""
        parts = self.parts(hidden, labels)
        whole = torch.stack([part for name, part in parts.items() if with_prior or name != "static"]).sum(dim=0)
        return whole / whole.sum(dim=-1, keepdim=True)

    @override
    def contributions(self, hidden: Hidden, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Return (A + S + P) · W · h of each position, and the label's bias."""
        weights = torch.stack([*self.parts(hidden, labels).values()]).sum(dim=0)
        read = self.output.weight[labels] @ self._wide(hidden.states).transpose(1, 2)
        return weights * read, self.output.bias[labels]

    @override
    def scores(self, hidden: Hidden, labels: Tensor) -> Tensor:
        """Return the ranker's scores (B, M, T) of chosen labels (B, M); without a ranker, queries · keys."""
        if self.ranker is None:
            return super().scores(hidden, labels)
        assert hidden.text is not None
        documents = zip(labels, hidden.text, strict=True)
        return torch.stack([self.ranker.of_pairs(chosen, text.expand(len(chosen), -1)) for chosen, text in documents])

    @override
    def planted_parameters(self) -> list[nn.Parameter]:
        """Return the ranker's parameters; without a ranker, the queries."""
        return super().attention_parameters() if self.ranker is None else [*self.ranker.parameters()]


@torch.no_grad()
def lowest_kept(scores: Tensor, columns: Tensor, mask: Tensor, k: int) -> Tensor:
    """Return the k-th highest score (B, L) of each label over a document's positions, the lowest where it has fewer.

    ``scores`` (U, L) are those of the batch's words, ``columns`` (B, T) the word of each position, ``mask`` (B, T).
    """
    table = scores.t().contiguous()  # (L, U)
    lowest = []
    for words, real in zip(columns, mask, strict=True):
        chosen = words[real]
        lowest.append(table[:, chosen].topk(min(k, len(chosen)), dim=1).values[:, -1])
    return torch.stack(lowest)


class PLANTL2R(PlantableNetwork):
    """AWD-LSTM under :class:`PlantedHead`; with ``directions: both``, two classifiers that train separately.

    Their probabilities are averaged. Stage 1 of the strategy ``plant`` trains the ranker by itself, see
    :mod:`plant_plugin.l2r.ranker`.

    Source: "Don't Just Pay Attention, PLANT It: Transfer L2R Models to Fine-tune Attention in Extreme Multi-Label Text
    Classification"; both directions: its A.11.
    """

    def __init__(self, num_classes: int, embed_vecs: Tensor, **options: Value) -> None:
        super().__init__()
        settings = read_options(arguments.PLANTL2R, options)
        names = (field.name for field in fields(arguments.AwdLstm))
        self.backbone = AwdLstmBackbone(embed_vecs, **{name: getattr(settings, name) for name in names})
        size, vocabulary = embed_vecs.shape[1], len(embed_vecs)

        def head() -> PlantedHead:
            ranker = None
            if settings.differentiable:
                ranker = Ranker(num_classes, vocabulary, settings.ranker_size, settings.ranker_hidden)
            return PlantedHead(size, num_classes, ranker, settings)

        self.heads = nn.ModuleList(head() for _ in self.backbone.directions)
        self.num_labels, self.has_prior, self.size = num_classes, bool(settings.static), size

    def rankers(self) -> list[Ranker]:
        """Return the ranker of each direction; none where nothing is to be ranked."""
        return [head.ranker for head in self._heads() if head.ranker is not None]

    @override
    def members(self, hidden: Hidden) -> list[tuple[PlantedHead, Hidden]]:  # type: ignore[override]
        """Return each direction's head, and its states."""
        states = hidden.states.split(self.size, dim=2)
        return [(head, hidden._replace(states=part)) for head, part in zip(self._heads(), states, strict=True)]

    @override
    def logits(self, hidden: Hidden) -> Tensor:
        """Return the logits (B, L), of both directions those of their mean probabilities."""
        return mean_logits([head(part) for head, part in self.members(hidden)])

    @override
    def scores(self, hidden: Hidden, labels: Tensor) -> Tensor:
        """Return the mean of the rankers' scores."""
        return torch.stack([head.scores(part, labels) for head, part in self.members(hidden)]).mean(dim=0)

    @override
    def attention(self, hidden: Hidden, labels: Tensor, *, with_prior: bool = False) -> Tensor:
        """Return the mean of the heads' attention."""
        attentions = [head.attention(part, labels, with_prior=with_prior) for head, part in self.members(hidden)]
        return torch.stack(attentions).mean(dim=0)

    @override
    def attention_parts(self, hidden: Hidden, labels: Tensor) -> dict[str, Tensor]:
        """Return A, S and P, each the mean over the heads."""
        parts_of_heads = [head.parts(part, labels) for head, part in self.members(hidden)]
        return {name: torch.stack([parts[name] for parts in parts_of_heads]).mean(dim=0) for name in parts_of_heads[0]}

    @override
    def contributions(self, hidden: Hidden, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Return the mean of the heads' contributions, and the rest of the logit of the mean probability."""
        parts, biases = zip(*(head.contributions(part, labels) for head, part in self.members(hidden)), strict=True)
        logits = [part.sum(dim=-1) + bias for part, bias in zip(parts, biases, strict=True)]
        added = torch.stack(parts).mean(dim=0)
        return added, mean_logits(logits) - added.sum(dim=-1)

    @override
    def word_tables(self) -> list[Tensor]:
        """Return the tables of the encoder and of the rankers."""
        return [*super().word_tables(), *(ranker.token.weight for ranker in self.rankers())]

    @override
    def planted_parameters(self) -> list[nn.Parameter]:
        return [parameter for head in self._heads() for parameter in head.planted_parameters()]

    def _heads(self) -> list[PlantedHead]:
        return [head for head in self.heads if isinstance(head, PlantedHead)]


def mean_logits(logits: list[Tensor]) -> Tensor:
    """Return the logit of the mean of the probabilities of ``logits``."""
    if len(logits) == 1:
        return logits[0]
    present, absent = (torch.stack([functional.logsigmoid(sign * logit) for logit in logits]) for sign in (1, -1))
    return present.logsumexp(dim=0) - absent.logsumexp(dim=0)
