"""AWD-LSTMs of one or both directions as an encoder, over whole documents or segment by segment.

Shape key: **B** documents · **T** token positions · **E** width of one direction's states.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from plant_plugin.config.network import AwdLstm as AwdLstmArguments
from plant_plugin.networks.awd_lstm import AwdLstm, Dropouts, detached
from plant_plugin.networks.encoders import real_positions, turned

DIRECTIONS = {"forward": ("forward",), "backward": ("backward",), "both": ("forward", "backward")}


class AwdLstmBackbone(nn.Module):
    """States of language models that read documents forward, backward or both ways, side by side.

    With ``segment_tokens`` a document is read in segments of as many words, each model's state carried from one to the
    next; the gradient ends where a segment begins. With ``gradient_segments`` only a document's last ones (as the model
    reads it) have a gradient, so that what the backward pass keeps of the encoder does not grow with the document. The
    states are those of one pass all the same.

    Source: first PLANT, section 3.2 and A.3; the segments are those of Howard and Ruder 2018, section 3.3 (BPT3C).
    """

    def __init__(
        self,
        vectors: Tensor,
        hidden_size: int,
        num_layers: int,
        directions: str = "forward",
        dropouts: Dropouts = Dropouts(),  # noqa: B008 a tuple
        segment_tokens: int | None = None,
        gradient_segments: int | None = None,
    ) -> None:
        super().__init__()
        self.directions, self.width = DIRECTIONS[directions], vectors.shape[1]
        self.models = nn.ModuleList(AwdLstm(vectors, hidden_size, num_layers, dropouts) for _ in self.directions)
        self.hidden_size = len(self.models) * self.width
        self.segment_tokens, self.gradient_segments = segment_tokens, gradient_segments

    def layers(self) -> list[list[nn.Parameter]]:
        """Parameters from the bottom up: the embeddings, then each layer."""
        models = [model for model in self.models if isinstance(model, AwdLstm)]
        stacks = [[model.embedding for model in models], *zip(*(model.layers for model in models), strict=True)]
        return [[parameter for module in stack for parameter in module.parameters()] for stack in stacks]

    def word_tables(self) -> list[Tensor]:
        """What has a row for each word."""
        return [model.embedding.weight for model in self.models if isinstance(model, AwdLstm)]

    def forward(self, text: Tensor, length: Tensor, mask: Tensor) -> Tensor:
        """States (B, T, hidden_size) of ``text`` (B, T), zero behind a document's ``length`` (B,)."""
        length = length.to(text.device).clamp(min=1)
        found = []
        for direction, model in zip(self.directions, self.models, strict=True):
            backward = direction == "backward"
            states = self._encoded(model, turned(text[..., None], length)[..., 0] if backward else text, length)
            found.append(turned(states, length) if backward else states)
        return torch.cat(found, dim=2) if len(found) > 1 else found[0]

    def _encoded(self, model: nn.Module, text: Tensor, length: Tensor) -> Tensor:
        assert isinstance(model, AwdLstm)
        width, documents = self.segment_tokens or text.shape[1], len(text)
        masks, state, parts = model.draw(documents), model.start(documents), []
        left = -(-length // width)  # segments of each document that are still to be read
        real = real_positions(text, length)[..., None]
        for segment, kept in zip(text.split(width, dim=1), real.split(width, dim=1), strict=True):
            graded = left > 0
            if self.gradient_segments is not None and self.training:
                graded = graded & (left <= self.gradient_segments)
            part = model.embedding.weight.new_zeros(*segment.shape, self.width)
            for chosen, trained in ((~graded & (left > 0), False), (graded, torch.is_grad_enabled())):
                rows = chosen.nonzero().flatten()
                if not len(rows):
                    continue
                whole = len(rows) == documents
                own = state if whole else [(hidden[:, rows], cell[:, rows]) for hidden, cell in state]
                with torch.set_grad_enabled(trained):
                    states, behind = model(segment[rows], own, masks if whole else masks.of(rows))
                part = states if whole else part.index_copy(0, rows, states)
                behind = detached(behind)
                state = behind if whole else [
                    (hidden.index_copy(1, rows, new[0]), cell.index_copy(1, rows, new[1]))
                    for (hidden, cell), new in zip(state, behind, strict=True)
                ]  # fmt: skip
            # here and not of the whole document, of which there would be two further copies
            parts.append(part * kept if masks.output is None else part * (masks.output * kept))
            left = left - 1
        return torch.cat(parts, dim=1)


def awd_lstm_of(given: AwdLstmArguments, vectors: Tensor) -> AwdLstmBackbone:
    """The encoder ``awd_lstm`` by the arguments of a network, over word vectors (V, E)."""
    shares = given.word_dropout, given.embed_dropout, given.weight_dropout
    dropouts = Dropouts(*shares, given.encoder_dropout, given.post_encoder_dropout)
    segments = given.segment_tokens, given.gradient_segments
    return AwdLstmBackbone(vectors, given.hidden_size, given.num_layers, given.directions, dropouts, *segments)
