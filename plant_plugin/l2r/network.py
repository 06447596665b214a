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

from plant_plugin.config.problems import read_options
from plant_plugin.config.values import Value
from plant_plugin.l2r import options as arguments
from plant_plugin.l2r.encoder import AwdLstmBackbone
from plant_plugin.l2r.pair_scores import ranker_scores
from plant_plugin.networks.attention_head import LabelwiseHead
from plant_plugin.networks.plantable import Hidden, PlantableNetwork

RARE = -4.6  # the logit of one document in a hundred: what all labels start from, else half of the training goes there
BLOCK_ELEMENTS = 2**21  # of (B, S, L) where nothing is kept for a gradient
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
        """Scores (U, L) of all labels for tokens (U,), or (U, M) of chosen labels (M,)."""
        own = self.label.weight if labels is None else self.label(labels)
        return ranker_scores(self.of_token(self.token(tokens)), self.of_label(own), self.weight) + self.bias

    def of_pairs(self, labels: Tensor, tokens: Tensor) -> Tensor:
        """Scores (M, K) of labels (M,), each for its own tokens (M, K)."""
        hidden = self.of_token(self.token(tokens)) + self.of_label(self.label(labels))[:, None]
        return hidden.relu() @ self.weight + self.bias


class Reading(NamedTuple):
    """A softmax over the positions read so far and what it weighs, of all labels (B, L)."""

    highest: Tensor
    total: Tensor
    read: Tensor

    @classmethod
    def start(cls, like: Tensor) -> Reading:
        """Nothing is read yet; ``like`` (B, L)."""
        return cls(torch.full_like(like, LOWEST), torch.zeros_like(like), torch.zeros_like(like))

    def go_on(self, scores: Tensor, contributions: Tensor) -> Reading:
        """The same behind further positions: scores, −∞ where there is no weight, and contributions (B, S, L)."""
        highest = torch.maximum(self.highest, scores.detach().amax(dim=1))
        weights, before = (scores - highest[:, None]).exp(), (self.highest - highest).exp()
        read = self.read * before + (weights * contributions).sum(dim=1)
        return Reading(highest, self.total * before + weights.sum(dim=1), read)


class Planted(NamedTuple):
    """What is planted in the attention of a batch, token by token; None: nothing."""

    columns: Tensor  # (B, T) which row of the tables each position has
    scores: Tensor | None  # (U, L) of the ranker
    kept: Tensor | None  # (B, L) the lowest score that inattention keeps in a document
    relevance: Tensor | None  # (U, L), and more rows for `marks`
    marks: Tensor | None  # (B, T) a further row of the relevance

    def part(self, positions: slice) -> Planted:
        """Of a segment."""
        marks = None if self.marks is None else self.marks[:, positions]
        return self._replace(columns=self.columns[:, positions], marks=marks)


class PlantedHead(LabelwiseHead):
    """``logit = Σ_e ((A + S + P)ᵀ H ⊙ W)_e + b``: learned, static and differentiable attention, segment by segment.

    ``A = softmax_t(h_t · u_l)``; ``S = g(l, t)``, the planted relevance times ``static``; ``P = softmax_t(f(l, t))`` by
    the ranker, where inattention keeps the ``inattention`` highest positions of a document (and what ties with the
    last): the others get no weight. The paper's formula keeps what is *above* the k-th highest, its text the k highest;
    with all 72 of a segment kept it has none, which is the text.

    Stateful: behind each segment of ``segment_tokens`` the state D is (for A and for P) the highest score, the sum of
    exponentials and the weighted sum so far. That is a φ with which D behind the last segment is the V of the whole
    document. Of the backward pass a segment's weights are computed again, so that no more than one segment's exist.

    Source: first PLANT, equations 5 to 8, A.5, and section 3.2 (stateful decoder), which leaves φ open.
    """

    def __init__(self, size: int, num_labels: int, ranker: Ranker | None, given: arguments.PLANTL2R) -> None:
        super().__init__(size, num_labels)
        nn.init.constant_(self.output.bias, RARE)
        self.ranker, self.given = ranker, given

    def planted(self, hidden: Hidden) -> Planted:
        """The tables of a batch; of the scores that inattention drops no gradient comes."""
        assert hidden.text is not None
        types, columns = torch.unique(hidden.text, return_inverse=True)
        scores = None if self.ranker is None else self.ranker(types)
        relevance, marks = None, None
        if hidden.prior is not None and self.given.static:
            relevance = (hidden.prior.dense().t() * self.given.static).to(hidden.states.device)
            marks = hidden.prior.marks
        kept = None
        if scores is not None and self.given.inattention is not None:
            kept = lowest_kept(scores.detach(), columns, hidden.mask, self.given.inattention)
        return Planted(columns, scores, kept, relevance, marks)

    def forward(self, hidden: Hidden) -> Tensor:
        """Logits (B, L) of all labels; sums and softmaxes are in the type of the parameters, also under autocast."""
        with torch.autocast(hidden.states.device.type, enabled=False):
            return self._read(hidden)

    def _read(self, hidden: Hidden) -> Tensor:
        planted, states = self.planted(hidden), self._wide(hidden.states)
        like = states.new_zeros(len(states), self.num_labels)
        state = (Reading.start(like), Reading.start(like), like)
        width = self.given.segment_tokens or states.shape[1]
        if not torch.is_grad_enabled():
            width = min(width, max(1, BLOCK_ELEMENTS // like.numel()))
        again = torch.is_grad_enabled() and states.shape[1] > width
        # split and not sliced: each slice's gradient would be as long as the document
        for first, segment in zip(range(0, states.shape[1], width), states.split(width, dim=1), strict=True):
            positions = slice(first, first + width)
            given = state, segment, hidden.mask[:, positions], planted.part(positions)
            if again:
                state = checkpoint(self._segment, *given, use_reentrant=False, preserve_rng_state=False)
            else:
                state = self._segment(*given)
        learned, differentiable, static = state
        logits = self.output.bias + learned.read / learned.total + static
        return logits if planted.scores is None else logits + differentiable.read / differentiable.total

    def _segment(
        self, state: tuple[Reading, Reading, Tensor], states: Tensor, mask: Tensor, planted: Planted
    ) -> tuple[Reading, Reading, Tensor]:
        learned, differentiable, static = state
        padding, contributions = ~mask[..., None], states @ self.output.weight.t()  # (B, S, L)
        scores = (states @ self.query.weight.t()).masked_fill(padding, float("-inf"))
        learned = learned.go_on(scores, contributions)
        if planted.scores is not None:
            scores = functional.embedding(planted.columns, planted.scores)
            lowest = None if planted.kept is None else planted.kept[:, None]
            differentiable = differentiable.go_on(self._kept(scores, lowest, padding), contributions)
        if planted.relevance is not None:
            relevance = self._static(planted)
            static = static + (relevance.masked_fill(padding, 0.0) * contributions).sum(dim=1)
        return learned, differentiable, static

    def _kept(self, scores: Tensor, lowest: Tensor | None, padding: Tensor) -> Tensor:
        """The ranker's scores behind inattention."""
        if lowest is not None:
            scores = scores.masked_fill(scores < lowest, float("-inf"))
        return scores.masked_fill(padding, float("-inf"))

    def _static(self, planted: Planted) -> Tensor:
        assert planted.relevance is not None
        found = functional.embedding(planted.columns, planted.relevance)
        return found if planted.marks is None else found + functional.embedding(planted.marks, planted.relevance)

    def logits(self, hidden: Hidden) -> Tensor:
        """As :meth:`forward`."""
        return self.forward(hidden)

    def selected_logits(self, hidden: Hidden, labels: Tensor) -> Tensor:
        """Logits (B, M) of chosen labels (B, M); computed for all."""
        return self.forward(hidden).gather(1, labels)

    def parts(self, hidden: Hidden, labels: Tensor) -> dict[str, Tensor]:
        """A, S and P (B, M, T) of chosen labels (B, M); 0 on padding. Without inattention P is the ranker's softmax."""
        planted, padding = self.planted(hidden), ~hidden.mask[:, None]
        found = {"learned": super().attention(hidden, labels)}

        def of_labels(table: Tensor) -> Tensor:
            return table.transpose(1, 2).gather(1, labels[..., None].expand(-1, -1, table.shape[1]))

        if planted.relevance is not None:
            found["static"] = of_labels(self._static(planted)).masked_fill(padding, 0.0)
        if planted.scores is not None:
            scores = of_labels(functional.embedding(planted.columns, planted.scores))
            lowest = None if planted.kept is None else planted.kept.gather(1, labels)[..., None]
            found["differentiable"] = self._kept(scores, lowest, padding).softmax(dim=-1)
        return found

    def attention(self, hidden: Hidden, labels: Tensor, *, with_prior: bool = True) -> Tensor:
        """A + S + P (B, M, T) of chosen labels (B, M), scaled to sum 1."""
        parts = self.parts(hidden, labels)
        whole = torch.stack([part for name, part in parts.items() if with_prior or name != "static"]).sum(dim=0)
        return whole / whole.sum(dim=-1, keepdim=True)

    def contributions(self, hidden: Hidden, labels: Tensor) -> tuple[Tensor, Tensor]:
        """(A + S + P) times what the label reads from the state there; and the label's bias."""
        weights = torch.stack([*self.parts(hidden, labels).values()]).sum(dim=0)
        read = self.output.weight[labels] @ self._wide(hidden.states).transpose(1, 2)
        return weights * read, self.output.bias[labels]

    def scores(self, hidden: Hidden, labels: Tensor) -> Tensor:
        """The ranker's (B, M, T) for chosen labels (B, M); of a head without one, queries · keys."""
        if self.ranker is None:
            return super().scores(hidden, labels)
        assert hidden.text is not None
        documents = zip(labels, hidden.text, strict=True)
        return torch.stack([self.ranker.of_pairs(own, text.expand(len(own), -1)) for own, text in documents])

    def planted_parameters(self) -> list[nn.Parameter]:
        """The ranker's; of a head without one, the queries."""
        return super().attention_parameters() if self.ranker is None else [*self.ranker.parameters()]


@torch.no_grad()
def lowest_kept(scores: Tensor, columns: Tensor, mask: Tensor, k: int) -> Tensor:
    """The k-th highest score (B, L) of each label over a document's positions, the lowest where it has fewer.

    ``scores`` (U, L) of the batch's words, ``columns`` (B, T) which of them stands at a position, ``mask`` (B, T).
    """
    table = scores.t().contiguous()  # (L, U)
    found = []
    for own, real in zip(columns, mask, strict=True):
        places = own[real]
        found.append(table[:, places].topk(min(k, len(places)), dim=1).values[:, -1])
    return torch.stack(found)


class PLANTL2R(PlantableNetwork):
    """AWD-LSTM under :class:`PlantedHead`; with ``directions: both`` two classifiers that train apart.

    Their probabilities are averaged. Stage 1 of the strategy ``plant`` trains the ranker by itself, see
    :mod:`plant_plugin.l2r.ranker`.

    Source: "Don't Just Pay Attention, PLANT It: Transfer L2R Models to Fine-tune Attention in Extreme Multi-Label Text
    Classification"; both directions: its A.11.
    """

    def __init__(self, num_classes: int, embed_vecs: Tensor, **options: Value) -> None:
        super().__init__()
        given = read_options(arguments.PLANTL2R, options)
        names = (field.name for field in fields(arguments.AwdLstm))
        self.backbone = AwdLstmBackbone(embed_vecs, **{name: getattr(given, name) for name in names})
        size, vocabulary = embed_vecs.shape[1], len(embed_vecs)

        def head() -> PlantedHead:
            ranker = None
            if given.differentiable:
                ranker = Ranker(num_classes, vocabulary, given.ranker_size, given.ranker_hidden)
            return PlantedHead(size, num_classes, ranker, given)

        self.heads = nn.ModuleList(head() for _ in self.backbone.directions)
        self.num_labels, self.has_prior, self.size = num_classes, bool(given.static), size

    def rankers(self) -> list[Ranker]:
        """One of each direction; none where nothing is to be ranked."""
        return [head.ranker for head in self._heads() if head.ranker is not None]

    def members(self, hidden: Hidden) -> list[tuple[PlantedHead, Hidden]]:  # type: ignore[override]
        """Each direction's head, and its own states."""
        states = hidden.states.split(self.size, dim=2)
        return [(head, hidden._replace(states=own)) for head, own in zip(self._heads(), states, strict=True)]

    def logits(self, hidden: Hidden) -> Tensor:
        """Logits (B, L); of both directions that of their mean probability."""
        return mean_logits([head(own) for head, own in self.members(hidden)])

    def scores(self, hidden: Hidden, labels: Tensor) -> Tensor:
        """Those of the rankers, their mean."""
        return torch.stack([head.scores(own, labels) for head, own in self.members(hidden)]).mean(dim=0)

    def attention(self, hidden: Hidden, labels: Tensor, *, with_prior: bool = False) -> Tensor:
        """That of the heads, their mean."""
        found = [head.attention(own, labels, with_prior=with_prior) for head, own in self.members(hidden)]
        return torch.stack(found).mean(dim=0)

    def attention_parts(self, hidden: Hidden, labels: Tensor) -> dict[str, Tensor]:
        """A, S and P of the heads, their mean."""
        found = [head.parts(own, labels) for head, own in self.members(hidden)]
        return {name: torch.stack([parts[name] for parts in found]).mean(dim=0) for name in found[0]}

    def contributions(self, hidden: Hidden, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Those of the heads, their mean; what is left of the logit of a mean probability is told with the bias."""
        parts, biases = zip(*(head.contributions(own, labels) for head, own in self.members(hidden)), strict=True)
        logits = [part.sum(dim=-1) + bias for part, bias in zip(parts, biases, strict=True)]
        added = torch.stack(parts).mean(dim=0)
        return added, mean_logits(logits) - added.sum(dim=-1)

    def word_tables(self) -> list[Tensor]:
        """Of the encoder and of the rankers."""
        return [*super().word_tables(), *(ranker.token.weight for ranker in self.rankers())]

    def planted_parameters(self) -> list[nn.Parameter]:
        """Those of the heads."""
        return [parameter for head in self._heads() for parameter in head.planted_parameters()]

    def _heads(self) -> list[PlantedHead]:
        return [head for head in self.heads if isinstance(head, PlantedHead)]


def mean_logits(logits: list[Tensor]) -> Tensor:
    """The logit of the mean of probabilities that are given as logits."""
    if len(logits) == 1:
        return logits[0]
    present, absent = (torch.stack([functional.logsigmoid(sign * one) for one in logits]) for sign in (1, -1))
    return present.logsumexp(dim=0) - absent.logsumexp(dim=0)
