"""The base of all label attention heads: scores, attention, prior, and logits straight from the attended values.

Shape key: **B** documents · **T** token positions · **L** labels · **H** hidden width · **A** heads · **D** width of
one head · **M** chosen labels of a document.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn
from typing_extensions import override

from plant_plugin.networks.kernels.label_attention import chosen_label_logits, label_attention_logits
from plant_plugin.networks.options import Prior
from plant_plugin.networks.plantable import Hidden, PlantableNetwork

INITIAL_SPREAD = 0.03  # standard deviation of a head's first weights in the programs of LAAT, PLM-ICD and PLM-CA


class AttentionHead(nn.Module, ABC):
    """Label attention softmax(queries · keys + β · relevance); a kind of head defines queries and keys.

    ``num_labels`` is L and ``num_heads`` A. ``prior_strength`` is the first β of every label and head; None: no prior.
    """

    output: nn.Linear  # the last layer, of the heads that have one

    def __init__(self, num_labels: int, num_heads: int = 1, prior_strength: float | None = None) -> None:
        super().__init__()
        self.num_labels, self.num_heads = num_labels, num_heads
        self.prior_strength: nn.Parameter | None = None
        if prior_strength is not None:
            self.prior_strength = nn.Parameter(torch.full((num_labels, num_heads), float(prior_strength)))

    @abstractmethod
    def queries(self, labels: Tensor | None = None) -> Tensor:
        """Return the queries of all labels, (L, A, D), or of chosen ones, (B, M, A, D), divided by the scale."""

    @abstractmethod
    def keys(self, states: Tensor) -> Tensor:
        """Return the keys (B, T, A, D) of ``states`` (B, T, H)."""

    @abstractmethod
    def attention_parameters(self) -> list[nn.Parameter]:
        """Return the parameters of queries and keys."""

    def start_at(self, logit: float) -> None:
        """Set the bias of every label to ``logit``."""
        nn.init.constant_(self.output.bias, logit)

    def fold(self) -> None:
        """Compute what does not depend on documents, once, for predicting."""

    @abstractmethod
    def forward(self, hidden: Hidden) -> Tensor:
        """Return the logits (B, L) of all labels."""

    @abstractmethod
    def selected_logits(self, hidden: Hidden, labels: Tensor) -> Tensor:
        """Return the logits (B, M) of chosen labels (B, M), as if picked from :meth:`forward`."""

    @abstractmethod
    def contributions(self, hidden: Hidden, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Return what each position adds to the logits of chosen labels (B, M), and what no position adds.

        Returns:
            (B, M, T), 0 on padding, and (B, M); their sum is the logit.
        """

    def rate_factors(self) -> dict[nn.Parameter, float]:
        """Return the parameters with a learning rate of their own, as a multiple of that of their group."""
        return {}

    def planted_parameters(self) -> list[nn.Parameter]:
        """Return the parameters that stage 1 trains: queries, keys, strength of the prior."""
        return self.attention_parameters() + ([] if self.prior_strength is None else [self.prior_strength])

    def scores(self, hidden: Hidden, labels: Tensor) -> Tensor:
        """Return the scores (B, M, T) of chosen labels (B, M) without the prior: the mean over heads of queries · keys.

        Stage 1 trains these. Trained together with the prior the network could only lose: the prior itself ranks the
        tokens by their relevance from the first step (nDCG 1), and the network's part would add noise to it. Padding is
        not masked.
        """
        queries = self._wide(self.queries(labels)).flatten(2)  # (B, M, A·D): the mean over heads is one product
        return queries @ self._wide(self.keys(hidden.states)).flatten(2).transpose(1, 2) / self.num_heads

    def attention(self, hidden: Hidden, labels: Tensor, *, with_prior: bool = True) -> Tensor:
        """Return the attention (B, M, T) of chosen labels (B, M), averaged over heads; 0 on padding."""
        return self._weights(hidden, self._wide(self.keys(hidden.states)), labels, with_prior=with_prior).mean(dim=1)

    def _weights(self, hidden: Hidden, keys: Tensor, labels: Tensor, *, with_prior: bool = True) -> Tensor:
        """Return the softmax (B, A, M, T) over tokens of chosen labels."""
        scores = torch.einsum("bmad,btad->bamt", self._wide(self.queries(labels)), keys)
        if with_prior and hidden.prior is not None and self.prior_strength is not None:
            strength = self.prior_strength[labels].permute(0, 2, 1)[..., None]  # (B, A, M, 1)
            scores = scores + strength * hidden.prior.of_labels(labels)[:, None]
        return scores.masked_fill(~hidden.mask[:, None, None, :], float("-inf")).softmax(dim=-1)

    def _wide(self, narrow: Tensor) -> Tensor:
        """Return the tensor in the type of the parameters, in which the softmax and the sums run under autocast too."""
        return narrow.to(next(self.parameters()).dtype)

    def _product_dtype(self, hidden: Hidden) -> torch.dtype | None:
        """Return the type of matrix products: narrow in training under autocast; None: that of the parameters."""
        kind = hidden.states.device.type
        return torch.get_autocast_dtype(kind) if self.training and torch.is_autocast_enabled(kind) else None


class LinearReadoutHead(AttentionHead):
    """A head whose logit is linear in the attended values, so that (B, L, H) never has to exist (method §2, fact 1)."""

    _folded: tuple[Tensor, Tensor, Tensor] | None = None

    @abstractmethod
    def values(self, states: Tensor) -> Tensor:
        """Return the values (B, T, A, D) of ``states`` (B, T, H); their width may differ from that of the keys."""

    @abstractmethod
    def outputs(self, labels: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Return the output vectors (…, A, D) and biases (…,) of all labels, (L,), or of chosen ones, (B, M).

        A label's logit is the product of its output vector and its attended values, plus its bias.
        """

    @override
    def fold(self) -> None:
        """Compute queries, outputs and bias once; until :meth:`train` is called parameters must not change.

        That saves a fifth of the time of a single document (L = 2,632, H = 128, T = 300), two percent of a batch's.
        """
        with torch.inference_mode():
            self._folded = self._of_labels()

    @override
    def train(self, mode: bool = True) -> LinearReadoutHead:
        """Set the mode, and forget what was folded."""
        self._folded = None
        super().train(mode)
        return self

    def _of_labels(self, labels: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
        """Return queries, outputs and bias of all labels or of chosen ones."""
        outputs, bias = self.outputs(labels)
        return self._wide(self.queries(labels)), self._wide(outputs), self._wide(bias)

    def _of_states(self, states: Tensor) -> tuple[Tensor, Tensor]:
        return self._wide(self.keys(states)), self._wide(self.values(states))

    @override
    def forward(self, hidden: Hidden) -> Tensor:
        keys, values = self._of_states(hidden.states)
        queries, outputs, bias = self._folded or self._of_labels()
        operands = queries, keys, values, outputs, hidden.mask
        kind = self._product_dtype(hidden)
        return bias + label_attention_logits(*operands, hidden.prior, self.prior_strength, product_dtype=kind)

    @override
    def selected_logits(self, hidden: Hidden, labels: Tensor) -> Tensor:
        queries, outputs, bias = self._of_labels(labels)
        keys, values = self._of_states(hidden.states)
        strength = None if self.prior_strength is None else self.prior_strength[labels]
        operands = queries, keys, values, outputs, hidden.mask
        kind = self._product_dtype(hidden)
        return bias + chosen_label_logits(*operands, labels, hidden.prior, strength, product_dtype=kind)

    @override
    def contributions(self, hidden: Hidden, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Return attention · output vector · value, summed over heads, and the label's bias.

        Source: method §2, fact 2: the logit is the sum of these over the positions.
        """
        keys, values = self._of_states(hidden.states)
        outputs, bias = self.outputs(labels)
        read = torch.einsum("bmad,btad->bamt", self._wide(outputs), values)
        return (self._weights(hidden, keys, labels) * read).sum(dim=1), self._wide(bias)


class LabelwiseHead(LinearReadoutHead):
    """One query and one output vector per label: logit_l = w_l · Σ_t softmax_t(u_l · f(h_t)) h_t + b_l.

    With f the identity this is the head of CAML, MultiResCNN and LibMultiLabel's label-wise attention; with
    f(h) = tanh(W h) that of LAAT and PLM-ICD.

    ``projection_size`` is the number of rows of W; None: f is the identity. ``spread`` is the standard deviation of the
    normal distribution that W, u and w are drawn from; None: they start as torch starts them.

    Source: Mullenbach et al. 2018, section 2.2 (CAML); Vu et al. 2020, Equations 6 to 9 (LAAT).
    """

    def __init__(
        self,
        hidden_size: int,
        num_labels: int,
        projection_size: int | None = None,
        prior_strength: float | None = None,
        spread: float | None = None,
    ) -> None:
        super().__init__(num_labels, 1, prior_strength)
        self.project = None if projection_size is None else nn.Linear(hidden_size, projection_size, bias=False)
        self.query = nn.Linear(projection_size or hidden_size, num_labels, bias=False)
        self.output = nn.Linear(hidden_size, num_labels)
        if spread is not None:
            for linear in (self.project, self.query, self.output):
                if linear is not None:
                    nn.init.normal_(linear.weight, std=spread)

    @override
    def attention_parameters(self) -> list[nn.Parameter]:
        return [*([] if self.project is None else self.project.parameters()), *self.query.parameters()]

    @override
    def queries(self, labels: Tensor | None = None) -> Tensor:
        """u (…, 1, D)."""
        return pick(self.query.weight, labels).unsqueeze(-2)

    @override
    def keys(self, states: Tensor) -> Tensor:
        """f(h) (B, T, 1, D)."""
        return (states if self.project is None else torch.tanh(self.project(states))).unsqueeze(-2)

    @override
    def values(self, states: Tensor) -> Tensor:
        """h itself (B, T, 1, H)."""
        return states.unsqueeze(-2)

    @override
    def outputs(self, labels: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """w (…, 1, H) and b (…,)."""
        return pick(self.output.weight, labels).unsqueeze(-2), pick(self.output.bias, labels)


def pick(rows: Tensor, labels: Tensor | None) -> Tensor:
    """Return the rows (L, …) of all labels, or the rows of chosen ones."""
    return rows if labels is None else rows[labels]


NO_PRIOR = Prior()


class HeadNetwork(PlantableNetwork):
    """A backbone under an :class:`AttentionHead`; the base of the package's networks.

    They take ``num_classes`` L, the word vectors ``embed_vecs`` (V, dim), which are not read over a language model, and
    as options the arguments that the class of their name in :mod:`plant_plugin.networks.options` declares. A
    ``ConfigError`` says which of these do not fit each other.
    """

    def __init__(self, backbone: nn.Module, head: AttentionHead, options: Prior = NO_PRIOR) -> None:
        super().__init__()
        self.backbone, self.head = backbone, head
        if options.initial_logit is not None:
            head.start_at(options.initial_logit)
        self.num_labels = head.num_labels
        self.has_prior = head.prior_strength is not None

    @override
    def scores(self, hidden: Hidden, labels: Tensor) -> Tensor:
        return self.head.scores(hidden, labels)

    @override
    def attention(self, hidden: Hidden, labels: Tensor, *, with_prior: bool = False) -> Tensor:
        return self.head.attention(hidden, labels, with_prior=with_prior)

    @override
    def contributions(self, hidden: Hidden, labels: Tensor) -> tuple[Tensor, Tensor]:
        return self.head.contributions(hidden, labels)

    @override
    def rate_factors(self) -> dict[nn.Parameter, float]:
        return self.head.rate_factors()

    @override
    def planted_parameters(self) -> list[nn.Parameter]:
        return self.head.planted_parameters()

    @override
    def logits(self, hidden: Hidden) -> Tensor:
        logits: Tensor = self.head(hidden)
        return logits

    @override
    def selected_logits(self, hidden: Hidden, labels: Tensor) -> Tensor:
        return self.head.selected_logits(hidden, labels)

    @override
    def fold(self) -> None:
        self.head.fold()
