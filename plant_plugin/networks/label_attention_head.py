"""The head of PLANT: label attention, boost, pool, one shared linear layer.

Shape key: **B** documents · **T** token positions · **L** labels · **H** hidden width · **A** heads · **D** = H/A ·
**M** chosen labels of a document · **P** pool size.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from plant_plugin.kernels.label_attention import PriorLookup, label_attention_logits
from plant_plugin.networks.planted_relevance import selected_relevance


class Hidden(NamedTuple):
    """What an encoder hands to the head.

    Attributes:
        states: (B, T, H).
        mask: (B, T) bool, true on real tokens.
        prior: Relevance of the batch's tokens, or None where no prior is planted.
    """

    states: Tensor
    mask: Tensor
    prior: PriorLookup | None = None


class LabelAttentionHead(nn.Module):
    """Multi-head attention of label embeddings over tokens, then boost, pool and a shared linear layer (method §2).

    ``Q = E``, ``K = V = H_i``; ``boosted = B_a + attended ⊙ B_m``; ``logits = AdaptiveAvgPool1d(P)(boosted) · W_c``.

    Two deviations in *how the same function is parametrised*, both so that one learning rate fits all parts:
    ``W_c`` starts at H/P in every entry, so that the pooled sum starts as CAML's per-label linear output with weight
    ``B_m``; and ``boost_add`` stores H·B_a, because H entries that all move by one Adam step would move a label's bias
    by H steps at once.

    Args:
        hidden_size: H.
        num_labels: L.
        num_heads: A; must divide H.
        pool_size: P, at most H; need not divide H.
        planted_prior: Whether the relevance is added to the scores (method §8).
        prior_strength: Start value of β, one per label and head.

    Raises:
        ValueError: A head count that does not divide H, or a pool larger than H.

    Source: PLANT, Equation 1 and the paragraph after it.
    """

    pool: Tensor

    def __init__(
        self,
        hidden_size: int,
        num_labels: int,
        num_heads: int = 8,
        pool_size: int = 128,
        planted_prior: bool = False,
        prior_strength: float = 4.0,
    ) -> None:
        super().__init__()
        if hidden_size % num_heads:
            raise ValueError(f"num_heads {num_heads} does not divide the hidden size {hidden_size}")
        if not 1 <= pool_size <= hidden_size:
            raise ValueError(f"pool_size {pool_size} is not between 1 and the hidden size {hidden_size}")
        self.hidden_size, self.num_labels, self.num_heads = hidden_size, num_labels, num_heads
        self.label_embeddings = nn.Parameter(torch.empty(num_labels, hidden_size))
        self.query = nn.Linear(hidden_size, hidden_size)
        self.key = nn.Linear(hidden_size, hidden_size)
        self.value = nn.Linear(hidden_size, hidden_size)
        self.merge = nn.Linear(hidden_size, hidden_size)  # the multi-head attention's output projection
        self.boost_multiply = nn.Parameter(torch.empty(num_labels, hidden_size))
        self.boost_add = nn.Parameter(torch.zeros(num_labels, hidden_size))
        self.classifier = nn.Parameter(torch.empty(pool_size))
        self.prior_strength = (
            nn.Parameter(torch.full((num_labels, num_heads), prior_strength)) if planted_prior else None
        )
        identity = torch.eye(hidden_size)
        # the pool as a matrix (H, P): its windows overlap where P does not divide H, so it is applied, not assumed
        self.register_buffer("pool", functional.adaptive_avg_pool1d(identity, pool_size), persistent=False)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw all parameters anew."""
        for linear in (self.query, self.key, self.value, self.merge):
            nn.init.xavier_uniform_(linear.weight)
            nn.init.zeros_(linear.bias)
        nn.init.xavier_uniform_(self.label_embeddings)
        nn.init.uniform_(self.boost_multiply, -1 / math.sqrt(self.hidden_size), 1 / math.sqrt(self.hidden_size))
        nn.init.zeros_(self.boost_add)
        nn.init.constant_(self.classifier, self.hidden_size / self.classifier.numel())

    def planted_parameters(self) -> list[nn.Parameter]:
        """What stage 1 trains of the head: label embeddings, projections of queries and keys, strength of the prior."""
        parameters = [self.label_embeddings, *self.query.parameters(), *self.key.parameters()]
        return parameters + ([self.prior_strength] if self.prior_strength is not None else [])

    def forward(self, hidden: Hidden, product_dtype: torch.dtype | None = None) -> Tensor:
        """Logits of all labels, folded and block by block (equal to :func:`reference_logits`).

        Returns:
            (B, L) logits.
        """
        keys, values = self._keys(hidden), self._split(self.value(hidden.states))
        outputs, bias = self._readout()
        logits = label_attention_logits(
            self._queries(), keys, values, outputs, hidden.mask, hidden.prior, self.prior_strength,
            product_dtype=product_dtype,
        )  # fmt: skip
        return logits + bias

    def selected_logits(self, hidden: Hidden, labels: Tensor, product_dtype: torch.dtype | None = None) -> Tensor:
        """Logits of chosen labels only; the same numbers as picking them from :meth:`forward`.

        Args:
            hidden: The encoder's states.
            labels: (B, M) label ids, each document its own.
            product_dtype: As in :func:`label_attention_logits`.

        Returns:
            (B, M) logits.
        """
        queries = self._queries(labels)  # (B, M, A, D)
        outputs, bias = self._readout(labels)
        keys, values = self._keys(hidden), self._split(self.value(hidden.states))
        relevance = None if hidden.prior is None else selected_relevance(hidden.prior, labels)  # (B, M, T)
        strength, everywhere = self._strength(labels), torch.arange(keys.shape[1], device=keys.device)[None]
        found = []
        # unbind, not indexing: the backward pass then stacks gradients instead of adding up one batch per document
        operands = (part.unbind() for part in (queries, keys, values, outputs, hidden.mask))
        for document, (query, key, value, output, mask) in enumerate(zip(*operands, strict=True)):
            planted = None if relevance is None else PriorLookup(relevance[document], everywhere)
            beta = None if strength is None else strength[document]
            logits = label_attention_logits(
                query, key[None], value[None], output, mask[None], planted, beta, product_dtype=product_dtype
            )
            found.append(logits)
        return torch.cat(found) + bias

    def scores(self, hidden: Hidden, labels: Tensor) -> Tensor:
        """What the network itself scores, without the prior: mean over heads of q·k/√D, for chosen labels.

        Stage 1 trains these. Trained together with the prior it could only lose: the prior alone ranks the tokens by
        their relevance from the first step (nDCG 1), and the network's part would add noise to it.

        Args:
            hidden: The encoder's states.
            labels: (B, M) label ids, each document its own.

        Returns:
            (B, M, T) scores; padding is not masked.
        """
        queries = self._queries(labels).flatten(2)  # (B, M, H): the mean over heads is one product over all of H
        return queries @ self._keys(hidden).flatten(2).transpose(1, 2) / self.num_heads

    def attention(self, hidden: Hidden, labels: Tensor, *, with_prior: bool = True) -> Tensor:
        """Attention S for chosen labels: softmax over tokens, averaged over heads.

        Args:
            hidden: The encoder's states.
            labels: (B, M) label ids, each document its own.
            with_prior: False for what the network itself attends to.

        Returns:
            (B, M, T), each row sums to 1 over real tokens.
        """
        scores = torch.einsum("bmad,btad->bamt", self._queries(labels), self._keys(hidden))
        if with_prior:
            scores = _add_prior(scores, hidden, labels, self._strength(labels))
        return scores.masked_fill(~hidden.mask[:, None, None, :], float("-inf")).softmax(dim=-1).mean(dim=1)

    def _split(self, states: Tensor) -> Tensor:
        return states.unflatten(-1, (self.num_heads, -1))  # (…, A, D)

    def _wide(self, narrow: Tensor) -> Tensor:
        """Out of autocast: the softmax and the sums run in the type of the parameters."""
        return narrow.to(self.label_embeddings.dtype)

    def _queries(self, labels: Tensor | None = None) -> Tensor:
        """Of all labels, (L, A, D), or of chosen ones, (B, M, A, D)."""
        few = self._few(labels)
        queries = self.query(self.label_embeddings if few is None else self.label_embeddings[few])
        queries = self._split(self._wide(queries)) / math.sqrt(self.hidden_size // self.num_heads)
        return queries if labels is few else queries[labels]

    def _keys(self, hidden: Hidden) -> Tensor:
        return self._split(self._wide(self.key(hidden.states)))  # (B, T, A, D)

    def _strength(self, labels: Tensor) -> Tensor | None:
        return None if self.prior_strength is None else self.prior_strength[labels]

    def _readout(self, labels: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Fact 1: what each label reads per head, (…, A, D), and its bias (…,), folded from boost, pool and W_c."""
        few = self._few(labels)
        multiply, add = (part if few is None else part[few] for part in (self.boost_multiply, self.boost_add))
        weight = self.pool @ self.classifier  # (H,)
        reading = multiply * weight  # (…, H)
        bias = self._wide((add @ weight) / self.hidden_size + reading @ self.merge.bias)
        outputs = self._split(self._wide(reading @ self.merge.weight))
        return (outputs, bias) if labels is few else (outputs[labels], bias[labels])

    def _few(self, labels: Tensor | None) -> Tensor | None:
        """The labels to project: the chosen ones where they are fewer than all, else all (None) to pick from."""
        return labels if labels is not None and labels.numel() < self.num_labels else None


def _add_prior(scores: Tensor, hidden: Hidden, labels: Tensor, strength: Tensor | None) -> Tensor:
    """Scores (B, A, M, T) + β · r for the chosen labels; ``strength`` is (B, M, A)."""
    if hidden.prior is None or strength is None:
        return scores
    return scores + strength.permute(0, 2, 1)[..., None] * selected_relevance(hidden.prior, labels)[:, None]


def reference_logits(head: LabelAttentionHead, hidden: Hidden) -> Tensor:
    """The head written out as in the paper: dense attention, boost, pool, linear. For tests and for reading.

    Returns:
        (B, L) logits.
    """
    states = hidden.states
    queries = head.query(head.label_embeddings).unflatten(-1, (head.num_heads, -1))  # (L, A, D)
    keys = head.key(states).unflatten(-1, (head.num_heads, -1))  # (B, T, A, D)
    values = head.value(states).unflatten(-1, (head.num_heads, -1))
    scores = torch.einsum("lad,btad->balt", queries, keys) / math.sqrt(queries.shape[-1])
    if hidden.prior is not None and head.prior_strength is not None:
        relevance = hidden.prior.table[:, hidden.prior.columns]  # (L, B, T)
        scores = scores + torch.einsum("la,lbt->balt", head.prior_strength, relevance)
    attention = scores.masked_fill(~hidden.mask[:, None, None, :], float("-inf")).softmax(dim=-1)  # (B, A, L, T)
    attended = head.merge(torch.einsum("balt,btad->blad", attention, values).flatten(2))  # (B, L, H)
    boosted = head.boost_add / head.hidden_size + attended * head.boost_multiply
    pooled = functional.adaptive_avg_pool1d(boosted, head.classifier.numel())  # (B, L, P)
    return pooled @ head.classifier
