"""The head of PLANT: label attention, boost, pool, one shared linear layer.

Shape key: **B** documents · **T** token positions · **L** labels · **H** hidden width · **A** heads · **D** = H/A ·
**M** chosen labels of a document · **P** pool size.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional
from typing_extensions import override

from plant_plugin.errors import ConfigError
from plant_plugin.networks.attention_head import LinearReadoutHead, pick


class LabelAttentionHead(LinearReadoutHead):
    """Multi-head attention of label embeddings over tokens, then boost, pool and a shared linear layer (method §2).

    ``Q = E``, ``K = V = H_i``; ``boosted = B_a + attended ⊙ B_m``; ``logits = AdaptiveAvgPool1d(P)(boosted) · W_c``.

    Two deviations are in *how the same function is parametrised*, both so that one learning rate fits all parts.
    ``W_c`` starts at H/P in every entry, so that the pooled sum starts as CAML's per-label linear output with weight
    ``B_m``. ``boost_add`` stores H·B_a, because H entries that all move by one Adam step would move a label's bias by H
    steps at once.

    The pool is at most H wide and need not divide it. Without a strength there is no prior, as in the paper.

    Raises:
        ConfigError: A head count that does not divide H, or a pool larger than H.

    Source: PLANT, Equation 1 and the paragraph after it.
    """

    pool: Tensor
    touched_rows = False  # chosen labels give their tables a sparse gradient; see training/rows.py

    def __init__(
        self,
        hidden_size: int,
        num_labels: int,
        num_heads: int = 8,
        pool_size: int = 128,
        prior_strength: float | None = None,
        *,
        matched_rates: bool = False,
    ) -> None:
        super().__init__(num_labels, num_heads, prior_strength)
        if hidden_size % num_heads:
            what = f"{num_heads} heads do not divide the hidden size {hidden_size}"
            raise ConfigError(what, where="network_config: num_heads", fix="give a number that divides it")
        if not 1 <= pool_size <= hidden_size:
            what = f"pool_size {pool_size} is not between 1 and the hidden size {hidden_size}"
            raise ConfigError(what, where="network_config: pool_size", fix=f"set pool_size to at most {hidden_size}")
        self.hidden_size, self.matched_rates = hidden_size, matched_rates
        self.label_embeddings = nn.Parameter(torch.empty(num_labels, hidden_size))
        # merge is the multi-head attention's output projection
        self.query, self.key, self.value, self.merge = (nn.Linear(hidden_size, hidden_size) for _ in range(4))
        self.boost_multiply = nn.Parameter(torch.empty(num_labels, hidden_size))
        self.boost_add = nn.Parameter(torch.zeros(num_labels, hidden_size))
        self.classifier = nn.Parameter(torch.full((pool_size,), hidden_size / pool_size))
        identity = torch.eye(hidden_size)
        # the pool as a matrix (H, P): its windows overlap where P does not divide H
        self.register_buffer("pool", functional.adaptive_avg_pool1d(identity, pool_size), persistent=False)
        for linear in (self.query, self.key, self.value, self.merge):
            nn.init.xavier_uniform_(linear.weight)
            nn.init.zeros_(linear.bias)
        nn.init.xavier_uniform_(self.label_embeddings)
        nn.init.uniform_(self.boost_multiply, -1 / math.sqrt(hidden_size), 1 / math.sqrt(hidden_size))

    @override
    def start_at(self, logit: float) -> None:
        nn.init.constant_(self.boost_add, logit)

    @override
    def rate_factors(self) -> dict[nn.Parameter, float]:
        """Return, with ``matched_rates``, √D for label embeddings and 1/√H for the shared matrices.

        Adam moves each entry by one learning rate. A shared matrix so moves the values of all labels by a sum over H
        entries, away from what the labels' rows have learned to read. Queries hardly move, as they are divided by √D.

        Source: Yang et al. 2022, Tensor Programs V, Table 8, with 1/H (on clinical cases 1/50 did no better than
        1/√128).
        """
        if not self.matched_rates:
            return {}
        shared = (self.query, self.key, self.value, self.merge)
        slower = {parameter: 1 / math.sqrt(self.hidden_size) for linear in shared for parameter in linear.parameters()}
        return {self.label_embeddings: math.sqrt(self.hidden_size // self.num_heads), **slower}

    @override
    def attention_parameters(self) -> list[nn.Parameter]:
        return [self.label_embeddings, *self.query.parameters(), *self.key.parameters()]

    @override
    def queries(self, labels: Tensor | None = None) -> Tensor:
        """Return projected label embeddings over √D, (…, A, D)."""
        few = self._few(labels)
        queries = self.query(self._rows(self.label_embeddings, few))
        queries = self._split(self._wide(queries)) / math.sqrt(self.hidden_size // self.num_heads)
        return queries if labels is few else queries[labels]

    @override
    def keys(self, states: Tensor) -> Tensor:
        return self._split(self.key(states))

    @override
    def values(self, states: Tensor) -> Tensor:
        return self._split(self.value(states))

    @override
    def outputs(self, labels: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Fold boost, pool and W_c into output vectors (…, A, D) and biases (…,).

        Source: method §2, fact 1.
        """
        few = self._few(labels)
        multiply, add = (self._rows(table, few) for table in (self.boost_multiply, self.boost_add))
        weight = self.pool @ self.classifier  # (H,)
        reading = multiply * weight  # (…, H)
        bias = (add @ weight) / self.hidden_size + reading @ self.merge.bias
        outputs = self._split(reading @ self.merge.weight)
        return (outputs, bias) if labels is few else (outputs[labels], bias[labels])

    def _split(self, states: Tensor) -> Tensor:
        return states.unflatten(-1, (self.num_heads, -1))  # (…, A, D)

    def _rows(self, table: Tensor, labels: Tensor | None) -> Tensor:
        if labels is not None and self.touched_rows:
            return functional.embedding(labels, table, sparse=True)
        return pick(table, labels)

    def _few(self, labels: Tensor | None) -> Tensor | None:
        """Return the labels to project: the chosen ones where they are fewer than all, else None, to pick from all."""
        return labels if labels is not None and labels.numel() < self.num_labels else None
