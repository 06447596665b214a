"""A document as a network reads it: what its labels make of each token.

Shapes: T tokens, M labels that are asked for.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch

from plant_plugin.data.batches import move
from plant_plugin.errors import ConfigError
from plant_plugin.model.ready import ReadyModel
from plant_plugin.networks.backbone import EmbeddedWords

Floats = npt.NDArray[np.float32]


class EncodedDocument:
    """One document, encoded once for any number of labels.

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
