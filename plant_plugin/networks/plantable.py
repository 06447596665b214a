"""What a network shows of itself so that every strategy can train it: the contract of planting.

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
    """What an encoder hands to the label attention."""

    states: Tensor  # (B, T, H)
    mask: Tensor  # (B, T) bool, true on real tokens
    prior: PriorLookup | None = None  # relevance of the batch's tokens; None: no prior is planted
    text: Tensor | None = None  # (B, T) the tokens themselves


class PlantableNetwork(nn.Module, ABC):
    """A network whose label attention can be planted.

    To plant your own, derive it from this class and write

    1. ``__init__(self, num_classes, embed_vecs, …)``: L and the word vectors (V, dim) come from the data, all else from
       ``network_config``. It sets ``num_labels``, and ``backbone``: a module called with ``text`` (B, T), ``length``
       (B,) and ``mask`` (B, T) that returns states (B, T, H). Over a language model the argument ``lm_weight`` stands
       in the place of words, with ``lm_window`` and ``lm_from_scratch``, for a ``HuggingFaceBackbone``.
    2. ``scores(hidden, labels)``: the attention scores of chosen labels *before* the softmax, (B, M, T). Stage 1 ranks
       tokens by them.
    3. ``logits(hidden)``: of all labels, (B, L).
    4. ``planted_parameters()``: what stage 1 trains besides the backbone (queries, keys); the rest waits for stage 2.

    Optional: ``selected_logits`` where a few labels cost less than all; ``contributions``, so that `plant explain` can
    tell what each token adds; ``has_prior = True`` to get ``hidden.prior``,
    whose relevance ``hidden.prior.of_labels(labels)`` (B, M, T) the network then adds to its scores, times a
    strength, before the softmax — in ``logits``, never in ``scores``: the prior alone ranks the tokens by relevance, so
    that stage 1 would have nothing to teach. Where attention is softmax(queries · keys) write the few lines of an
    :class:`~plant_plugin.networks.attention_head.LabelwiseHead` instead and derive from its ``HeadNetwork``.

    Use it by name: ``model_name: my_package.my_module:MyNetwork``, in a folder where Python finds it
    (``PYTHONPATH=. libmultilabel --config …``). Nothing else is asked: no LibMultiLabel, no Lightning.
    """

    num_labels: int
    backbone: nn.Module
    has_prior: bool = False
    # Noted by `construct` for the checkpoint: name and options; the shape of embed_vecs.
    built_as: tuple[str, Keys] = ("", {})
    vectors_shape: tuple[int, ...] | None = None
    _relevance: PlantedRelevance | None = None

    def word_tables(self) -> list[Tensor]:
        """Parameters with a row for each word, which `plant strip` clears; none over a language model."""
        found: list[Tensor] = getattr(self.backbone, "word_tables", list)()
        return found

    def start(self, vocabulary: str) -> None:
        """Take weights to train from, before training, where documents are read by the vocabulary of that hash.

        Weights that were trained are loaded after it, or without it. Here: what the backbone's ``start`` does.
        """
        start: Callable[[str], None] | None = getattr(self.backbone, "start", None)
        if start is not None:
            start(vocabulary)

    @abstractmethod
    def scores(self, hidden: Hidden, labels: Tensor) -> Tensor:
        """Scores (B, M, T) of chosen labels (B, M) before the softmax and without the prior; padding is not masked."""

    @abstractmethod
    def logits(self, hidden: Hidden) -> Tensor:
        """Logits (B, L) of all labels."""

    @abstractmethod
    def planted_parameters(self) -> list[nn.Parameter]:
        """What stage 1 trains besides the backbone."""

    def rate_factors(self) -> dict[nn.Parameter, float]:
        """Parameters that learn so many times as fast as the others of their group."""
        return {}

    def selected_logits(self, hidden: Hidden, labels: Tensor) -> Tensor:
        """Logits (B, M) of chosen labels (B, M): the same numbers as picking them from :meth:`logits`."""
        return self.logits(hidden).gather(1, labels)

    def members(self, hidden: Hidden) -> list[tuple[PlantableNetwork, Hidden]]:
        """What trains by a loss of its own, and what it reads; more than one where :meth:`logits` averages them."""
        return [(self, hidden)]

    def attention(self, hidden: Hidden, labels: Tensor, *, with_prior: bool = False) -> Tensor:
        """Attention (B, M, T) of chosen labels (B, M); each row sums to 1 over real tokens.

        Raises:
            ValueError: With a prior, of a network that has one but does not show it here.
        """
        if with_prior and self.has_prior:
            raise ValueError("a network with a prior of its own has to define `attention`")
        return self.scores(hidden, labels).masked_fill(~hidden.mask[:, None, :], float("-inf")).softmax(dim=-1)

    def attention_parts(self, hidden: Hidden, labels: Tensor) -> dict[str, Tensor]:
        """What the attention of chosen labels (B, M) is a sum of, by name, each (B, M, T); empty: it is one whole."""
        return {}

    def contributions(self, hidden: Hidden, labels: Tensor) -> tuple[Tensor, Tensor] | None:
        """What each position adds to the logits of chosen labels (B, M), and what none of them adds.

        Returns:
            (B, M, T), 0 on padding, and (B, M); their sum is the logit. None: this network cannot tell.
        """
        return None

    def plant_relevance(self, matrix: sparse.csr_array) -> None:
        """Give the network the relevance (L, V) that its prior and stage 1 read.

        Raises:
            ValueError: The matrix is for another number of labels.
        """
        if matrix.shape[0] != self.num_labels:
            raise ValueError(f"relevance of {matrix.shape[0]} labels for a network of {self.num_labels}")
        self._relevance = PlantedRelevance(matrix)

    def relevance_of(self, batch: dict[str, Tensor], *, marked: bool = True) -> PriorLookup | None:
        """The planted relevance of a batch's tokens, with what marks tell added; None where none was planted.

        The batch holds ``text`` (B, T), and marks where there are any: :class:`~plant_plugin.data.batches.Batches`.
        """
        if self._relevance is None:
            return None
        marks = None
        if marked and "mark_place" in batch:
            marks = batch["mark_place"], batch["mark_label"], batch["mark_value"]
        return self._relevance.lookup(batch["text"], marks)

    def encode(self, batch: dict[str, Tensor]) -> Hidden:
        """States, mask and prior of a batch: what the label attention reads.

        Args:
            batch: ``text`` (B, T) and ``length`` (B,); ``mask`` (B, T) where there is one; ``frozen`` (B, T, F) where
                the states of a frozen language model are known.
        """
        text, length = batch["text"], batch["length"]
        # LibMultiLabel's own batches have none; an empty document has one position
        mask = batch["mask"] if "mask" in batch else real_positions(text, length.clamp(min=1))
        known = {"frozen": batch["frozen"]} if "frozen" in batch else {}
        states = self.backbone(text, length, mask, **known)
        return Hidden(states, mask, self.relevance_of(batch) if self.has_prior else None, text)

    def fold(self) -> None:
        """Compute once what does not depend on documents, for predicting; forgotten when :meth:`train` is called."""

    def batch_logits(self, batch: dict[str, Tensor], hidden: Hidden) -> Tensor:
        """Logits (B, L) of a batch; with a ``shortlist`` (B, S) of its labels alone, and nothing higher elsewhere.

        A label outside has the lowest logit inside: what is not scored is not to pass what was scored and refused.
        """
        if "shortlist" not in batch:
            return self.logits(hidden)
        scored = self.selected_logits(hidden, batch["shortlist"])
        return scored.amin(dim=1, keepdim=True).repeat(1, self.num_labels).scatter(1, batch["shortlist"], scored)

    def listed_logits(self, batch: dict[str, Tensor]) -> Tensor:
        """Logits (B, S) of a batch's ``shortlist`` alone."""
        return self.selected_logits(self.encode(batch), batch["shortlist"])

    def forward(self, batch: dict[str, Tensor]) -> dict[str, Tensor]:
        """Logits (B, L) of a batch, under the key ``logits``, as LibMultiLabel's trainer wants them."""
        return {"logits": self.batch_logits(batch, self.encode(batch))}
