"""The contract of planting: the methods by which every strategy can train a network.

Shape key: **B** documents · **T** token positions · **L** labels · **H** hidden width · **M** chosen labels of a
document.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import NamedTuple

from scipy import sparse
from torch import Tensor, nn

from plant_plugin.config.values import Keys
from plant_plugin.networks.encoders import real_positions
from plant_plugin.networks.kernels.prior import PlantedRelevance, PriorLookup


class Hidden(NamedTuple):
    """An encoder's output, which the label attention reads."""

    states: Tensor  # (B, T, H)
    mask: Tensor  # (B, T) bool, true on real tokens
    prior: PriorLookup | None = None  # relevance of the batch's tokens; None: no prior is planted
    text: Tensor | None = None  # (B, T) the tokens themselves


class PlantableNetwork(nn.Module, ABC):
    """A network whose label attention can be planted.

    To plant your own, derive it from this class and write

    1. ``__init__(self, num_classes, embed_vecs, …)``: L and the word vectors (V, dim) come from the data, all else from
       ``network_config``. It sets ``num_labels``, and ``backbone``: a module called with ``text`` (B, T), ``length``
       (B,) and ``mask`` (B, T) that returns states (B, T, H). A network over a language model takes ``lm_weight``
       instead of word vectors, with ``lm_window``, for a ``HuggingFaceBackbone``.
    2. ``scores(hidden, labels)``: the attention scores of chosen labels *before* the softmax, (B, M, T). Stage 1 ranks
       tokens by them.
    3. ``logits(hidden)``: of all labels, (B, L).
    4. ``planted_parameters()``: what stage 1 trains besides the backbone (queries, keys); the rest waits for stage 2.

    Optional are ``selected_logits``, where a few labels cost less than all, and ``contributions``, from which `plant
    explain` shows what each token adds. With ``has_prior = True`` the network gets ``hidden.prior``. It adds the
    relevance ``hidden.prior.of_labels(labels)`` (B, M, T), times a strength, to its scores before the softmax: in
    ``logits``, never in ``scores``, because the prior itself ranks the tokens by relevance and stage 1 would have
    nothing to teach. Where attention is softmax(queries · keys), write the few lines of an
    :class:`~plant_plugin.networks.attention_head.LabelwiseHead` instead and derive from its ``HeadNetwork``.

    Use it by name: ``model_name: my_package.my_module:MyNetwork``, in a folder where Python finds it
    (``PYTHONPATH=. libmultilabel --config …``). It needs neither LibMultiLabel nor Lightning.
    """

    num_labels: int
    backbone: nn.Module
    has_prior: bool = False
    # Noted by `construct` for the checkpoint: name and options; the shape of embed_vecs.
    built_as: tuple[str, Keys] = ("", {})
    vectors_shape: tuple[int, ...] | None = None
    _relevance: PlantedRelevance | None = None

    def word_tables(self) -> list[Tensor]:
        """Return the parameters with a row for each word, which `plant strip` clears; none over a language model."""
        tables: list[Tensor] = getattr(self.backbone, "word_tables", list)()
        return tables

    def start(self, vocabulary: str) -> None:
        """Load weights to start training from; documents are read by the vocabulary of that hash.

        Weights that were trained are loaded after it, or without it. The backbone's ``start`` does it, if it has one.
        """
        start: Callable[[str], None] | None = getattr(self.backbone, "start", None)
        if start is not None:
            start(vocabulary)

    @abstractmethod
    def scores(self, hidden: Hidden, labels: Tensor) -> Tensor:
        """Return scores (B, M, T) of chosen labels (B, M), before the softmax, without prior and mask."""

    @abstractmethod
    def logits(self, hidden: Hidden) -> Tensor:
        """Return the logits (B, L) of all labels."""

    @abstractmethod
    def planted_parameters(self) -> list[nn.Parameter]:
        """Return the parameters that stage 1 trains besides the backbone's."""

    def rate_factors(self) -> dict[nn.Parameter, float]:
        """Return the parameters with a learning rate of their own, as a multiple of that of their group."""
        return {}

    def selected_logits(self, hidden: Hidden, labels: Tensor) -> Tensor:
        """Return the logits (B, M) of chosen labels (B, M), as if picked from :meth:`logits`."""
        return self.logits(hidden).gather(1, labels)

    def members(self, hidden: Hidden) -> list[tuple[PlantableNetwork, Hidden]]:
        """Return the parts that train by their own loss, each with its input; several where logits are averaged."""
        return [(self, hidden)]

    def attention(self, hidden: Hidden, labels: Tensor, *, with_prior: bool = False) -> Tensor:
        """Return the attention (B, M, T) of chosen labels (B, M); each row sums to 1 over real tokens.

        Raises:
            ValueError: With a prior, of a network that has one but does not show it here.
        """
        if with_prior and self.has_prior:
            raise ValueError("a network with a prior of its own has to define `attention`")
        return self.scores(hidden, labels).masked_fill(~hidden.mask[:, None, :], float("-inf")).softmax(dim=-1)

    def attention_parts(self, hidden: Hidden, labels: Tensor) -> dict[str, Tensor]:
        """Return the summands (B, M, T) of the attention of chosen labels (B, M), by name; empty: it is one whole."""
        return {}

    def contributions(self, hidden: Hidden, labels: Tensor) -> tuple[Tensor, Tensor] | None:
        """Return what each position adds to the logits of chosen labels (B, M), and what no position adds.

        Returns:
            (B, M, T), 0 on padding, and (B, M); their sum is the logit. None: this network has no such sum.
        """
        return None

    def plant_relevance(self, matrix: sparse.csr_array) -> None:
        """Set the relevance (L, V) that the prior and stage 1 read.

        Raises:
            ValueError: The matrix is for another number of labels.
        """
        if matrix.shape[0] != self.num_labels:
            raise ValueError(f"relevance of {matrix.shape[0]} labels for a network of {self.num_labels}")
        self._relevance = PlantedRelevance(matrix)

    def relevance_of(self, batch: dict[str, Tensor], *, marked: bool = True) -> PriorLookup | None:
        """Return the planted relevance of a batch's tokens, the marks' values added; None where none was planted.

        The batch holds ``text`` (B, T), and marks where there are any: :class:`~plant_plugin.data.batches.Batches`.
        """
        if self._relevance is None:
            return None
        marks = None
        if marked and "mark_place" in batch:
            marks = batch["mark_place"], batch["mark_label"], batch["mark_value"]
        return self._relevance.lookup(batch["text"], marks)

    def encode(self, batch: dict[str, Tensor]) -> Hidden:
        """Encode a batch into states, mask and prior, which the label attention reads.

        Args:
            batch: ``text`` (B, T) and ``length`` (B,); ``mask`` (B, T) where there is one; ``frozen`` (B, T, F) where
                the states of a frozen language model are known.
        """
        text, length = batch["text"], batch["length"]
        # LibMultiLabel's batches have no mask; an empty document has one position
        mask = batch["mask"] if "mask" in batch else real_positions(text, length.clamp(min=1))
        known = {"frozen": batch["frozen"]} if "frozen" in batch else {}
        states = self.backbone(text, length, mask, **known)
        return Hidden(states, mask, self.relevance_of(batch) if self.has_prior else None, text)

    def fold(self) -> None:
        """Compute what does not depend on documents, once, for predicting; :meth:`train` forgets it."""

    def batch_logits(self, batch: dict[str, Tensor], hidden: Hidden) -> Tensor:
        """Return the logits (B, L) of a batch; with a ``shortlist`` (B, S) only its labels are scored.

        A label outside has the lowest logit inside, so that no unscored label comes before a scored one.
        """
        if "shortlist" not in batch:
            return self.logits(hidden)
        scored = self.selected_logits(hidden, batch["shortlist"])
        return scored.amin(dim=1, keepdim=True).repeat(1, self.num_labels).scatter(1, batch["shortlist"], scored)

    def listed_logits(self, batch: dict[str, Tensor]) -> Tensor:
        """Return the logits (B, S) of a batch's ``shortlist``."""
        return self.selected_logits(self.encode(batch), batch["shortlist"])

    def forward(self, batch: dict[str, Tensor]) -> dict[str, Tensor]:
        """Return the logits (B, L) of a batch under the key ``logits``, as LibMultiLabel's trainer reads them."""
        return {"logits": self.batch_logits(batch, self.encode(batch))}
