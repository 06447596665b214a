"""AWD-LSTM: an LSTM with dropped recurrent weights, its dropouts, and the language model that it is trained as.

Shape key: **B** documents · **T** token positions · **V** words · **E** width of embeddings and states · **H** inner
width.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from plant_plugin.networks.encoders import weights_of

State = list[tuple[Tensor, Tensor]]  # of each layer: hidden and cell, (1, B, units)


class Dropouts(NamedTuple):
    """Shares that are dropped in training, each in [0, 1)."""

    word: float = 0.0  # of the vocabulary, the same words at all positions
    embedded: float = 0.0  # of the numbers of an embedded word, the same at all positions, as all that follow
    weight: float = 0.0  # of the hidden-to-hidden weights
    hidden: float = 0.0  # between layers
    output: float = 0.0  # of the states


class Masks(NamedTuple):
    """Factors of one pass over documents: 0 where it drops, the others scaled, so that means stay."""

    word: Tensor | None  # (V, 1)
    inputs: list[Tensor | None]  # of each layer's input, (B, 1, width)
    output: Tensor | None  # (B, 1, E)
    recurrent: list[Tensor]  # each layer's hidden-to-hidden weights, zero where they are dropped

    def of(self, rows: Tensor) -> Masks:
        """Return the masks of chosen documents."""
        picked = [None if part is None else part[rows] for part in (*self.inputs, self.output)]
        return self._replace(inputs=picked[:-1], output=picked[-1])


class AwdLstm(nn.Module):
    """Embedded words through layers of one direction; the last one is as wide as the embeddings.

    ``vectors`` (V, E) are what the embeddings start as, ``hidden_size`` is H of all layers but the last. The LSTM is
    torch's own kernel, called with recurrent weights of which a part is dropped before.

    Source: Merity, Keskar and Socher 2017, sections 2 to 4; first PLANT, equation 4.
    """

    def __init__(self, vectors: Tensor, hidden_size: int, num_layers: int, dropouts: Dropouts) -> None:
        super().__init__()
        self.embedding = nn.Embedding.from_pretrained(vectors.clone().float(), freeze=False)
        width = vectors.shape[1]
        sizes = [width, *[hidden_size] * (num_layers - 1), width]
        self.layers = nn.ModuleList(nn.LSTM(before, after, batch_first=True) for before, after in pairwise(sizes))
        self.dropouts = dropouts

    def stack(self) -> list[nn.LSTM]:
        """Return the layers, from the bottom up."""
        return [layer for layer in self.layers if isinstance(layer, nn.LSTM)]

    def draw(self, documents: int) -> Masks:
        """Draw the masks of a pass over so many documents; evaluation drops nothing."""
        like, drop = self.embedding.weight, self.dropouts

        def mask(share: float, *shape: int) -> Tensor | None:
            if not (share and self.training):
                return None
            return functional.dropout(torch.ones(shape, device=like.device, dtype=like.dtype), share)

        inputs = [mask(drop.hidden if place else drop.embedded, documents, 1, layer.input_size)
                  for place, layer in enumerate(self.stack())]  # fmt: skip
        recurrent = [
            functional.dropout(weights_of(layer, "l0")[1], drop.weight, self.training) for layer in self.stack()
        ]
        return Masks(mask(drop.word, len(like), 1), inputs, mask(drop.output, documents, 1, like.shape[1]), recurrent)

    def start(self, documents: int) -> State:
        """Return the state before the first word."""
        zero = self.embedding.weight.new_zeros
        return [(zero(1, documents, layer.hidden_size),) * 2 for layer in self.stack()]

    def forward(self, text: Tensor, state: State, masks: Masks) -> tuple[Tensor, State]:
        """Return states (B, T, E) of ``text`` (B, T), before the output's dropout, and the state after the last."""
        words = self.embedding.weight if masks.word is None else self.embedding.weight * masks.word
        states, ended = functional.embedding(text, words), State()
        with torch.autocast(text.device.type, enabled=False):  # the state that is carried has one type
            for layer, start, mask, recurrent in zip(self.stack(), state, masks.inputs, masks.recurrent, strict=True):
                states = states if mask is None else states * mask
                enter, _, *biases = weights_of(layer, "l0")
                # with biases, one layer, no dropout in it, one direction, documents first
                states, *last = torch.lstm(
                    states, start, [enter, recurrent, *biases], True, 1, 0.0, self.training, False, True
                )
                ended.append((last[0], last[1]))
        return states, ended


def detached(state: State) -> State:
    """Cut a state off from its gradient."""
    return [(hidden.detach(), cell.detach()) for hidden, cell in state]


class LanguageModel(nn.Module):
    """The next word from the words before it: the output embeddings are the input ones.

    Source: Merity et al. 2017, section 4.5 (tied weights), 4.6 (penalties on activations and on their change).
    """

    def __init__(self, encoder: AwdLstm) -> None:
        super().__init__()
        self.encoder, self.bias = encoder, nn.Parameter(torch.zeros(len(encoder.embedding.weight)))

    def logits(self, states: Tensor) -> Tensor:
        """Return the logits (…, V) of every word, from states (…, E)."""
        return functional.linear(states, self.encoder.embedding.weight, self.bias)

    def losses(self, text: Tensor, target: Tensor, state: State) -> tuple[Tensor, Tensor, State]:
        """Return the cross-entropy in nats, a mean over ``target`` (B, T), the penalties, and the state after the text.

        The penalties are twice the mean square of the activations after dropout, and the mean square of the others'
        change from position to position.
        """
        masks = self.encoder.draw(len(text))
        states, ended = self.encoder(text, state, masks)
        dropped = states if masks.output is None else states * masks.output
        loss = functional.cross_entropy(self.logits(dropped).flatten(0, 1), target.flatten())
        penalty = 2 * dropped.square().mean()
        if text.shape[1] > 1:
            penalty = penalty + (states[:, 1:] - states[:, :-1]).square().mean()
        return loss, penalty, detached(ended)
