"""AWD-LSTMs of one or both directions as an encoder, over whole documents or segment by segment.

Shape key: **B** documents · **T** token positions · **E** width of one direction's states.
"""

from __future__ import annotations

from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from plant_plugin.config.values import Value
from plant_plugin.errors import ConfigError
from plant_plugin.l2r import options as arguments
from plant_plugin.l2r.awd_lstm import AwdLstm, Dropouts, detached
from plant_plugin.model.folder import check_identity
from plant_plugin.networks.backbone.words import Backbone
from plant_plugin.networks.encoders import real_positions, turned

DIRECTIONS = {"forward": ("forward",), "backward": ("backward",), "both": ("forward", "backward")}


class AwdLstmBackbone(Backbone):
    """States of language models that read documents forward, backward or both ways, side by side.

    With ``segment_tokens`` a document is read in segments of as many words, each model's state carried from one to the
    next; the gradient ends where a segment begins. With ``gradient_segments`` only a document's last segments, in the
    model's direction, have a gradient, so that the memory for the backward pass does not grow with the document. The
    states are the same as those of one pass.

    Source: first PLANT, section 3.2 and A.3; the segments are those of Howard and Ruder 2018, section 3.3 (BPT3C).
    """

    def __init__(self, vectors: Tensor, **options: Value) -> None:
        super().__init__()
        settings = arguments.AwdLstm(**options)
        self.directions, self.width = DIRECTIONS[settings.directions], vectors.shape[1]
        shares = settings.word_dropout, settings.embed_dropout, settings.weight_dropout
        dropouts = Dropouts(*shares, settings.encoder_dropout, settings.post_encoder_dropout)
        sizes = settings.hidden_size, settings.num_layers
        self.models = nn.ModuleList(AwdLstm(vectors, *sizes, dropouts) for _ in self.directions)
        self.hidden_size = len(self.models) * self.width
        self.segment_tokens, self.gradient_segments = settings.segment_tokens, settings.gradient_segments
        self.language_model = settings.language_model

    def start(self, vocabulary: str) -> None:
        """Load the weights of the language models in the folder ``language_model``, of the vocabulary of that hash.

        Raises:
            ConfigError: A direction was not trained, or with other sizes.
            CheckpointError: A file is torn, or of another vocabulary.
        """
        if self.language_model is None:
            return
        again = "plant pretrain-lm with this configuration, into a new folder"
        for direction, encoder in zip(self.directions, self.models, strict=True):
            path = Path(self.language_model) / f"{direction}.safetensors"
            if not path.is_file():
                raise ConfigError(f"there is no {direction} language model", where=str(path), fix=again)
            check_identity(path, {"vocabulary": vocabulary})
            weights = load_file(path)
            inner = {name.removeprefix("encoder."): tensor for name, tensor in weights.items() if name != "bias"}
            try:
                encoder.load_state_dict(inner)
            except RuntimeError as error:
                what = "the language model has other sizes than network_config: embed_dim, hidden_size or num_layers"
                raise ConfigError(what, where=str(path), fix=again) from error

    def layers(self) -> list[list[nn.Parameter]]:
        """Return the parameters from the bottom up: the embeddings, then each layer."""
        models = [model for model in self.models if isinstance(model, AwdLstm)]
        stacks = [[model.embedding for model in models], *zip(*(model.layers for model in models), strict=True)]
        return [[parameter for module in stack for parameter in module.parameters()] for stack in stacks]

    def word_tables(self) -> list[Tensor]:
        """Return the parameters with a row for each word."""
        return [model.embedding.weight for model in self.models if isinstance(model, AwdLstm)]

    def forward(self, text: Tensor, length: Tensor, mask: Tensor) -> Tensor:
        """Return states (B, T, hidden_size) of ``text`` (B, T), zero after a document's ``length`` (B,)."""
        length = length.to(text.device).clamp(min=1)
        encoded = []
        for direction, model in zip(self.directions, self.models, strict=True):
            backward = direction == "backward"
            states = self._encoded(model, turned(text[..., None], length)[..., 0] if backward else text, length)
            encoded.append(turned(states, length) if backward else states)
        return torch.cat(encoded, dim=2) if len(encoded) > 1 else encoded[0]

    def _encoded(self, model: nn.Module, text: Tensor, length: Tensor) -> Tensor:
        assert isinstance(model, AwdLstm)
        width, documents = self.segment_tokens or text.shape[1], len(text)
        masks, state, parts = model.draw(documents), model.start(documents), []
        left = -(-length // width)  # segments of each document that are still to be read
        real = real_positions(text, length)[..., None]
        for segment, inside in zip(text.split(width, dim=1), real.split(width, dim=1), strict=True):
            graded = left > 0
            if self.gradient_segments is not None and self.training:
                graded = graded & (left <= self.gradient_segments)
            part = model.embedding.weight.new_zeros(*segment.shape, self.width)
            for chosen, trained in ((~graded & (left > 0), False), (graded, torch.is_grad_enabled())):
                rows = chosen.nonzero().flatten()
                if not len(rows):
                    continue
                whole = len(rows) == documents
                start = state if whole else [(hidden[:, rows], cell[:, rows]) for hidden, cell in state]
                with torch.set_grad_enabled(trained):
                    states, ended = model(segment[rows], start, masks if whole else masks.of(rows))
                part = states if whole else part.index_copy(0, rows, states)
                ended = detached(ended)
                state = ended if whole else [
                    (hidden.index_copy(1, rows, new[0]), cell.index_copy(1, rows, new[1]))
                    for (hidden, cell), new in zip(state, ended, strict=True)
                ]  # fmt: skip
            # here and not of the whole document, of which there would be two further copies
            parts.append(part * inside if masks.output is None else part * (masks.output * inside))
            left = left - 1
        return torch.cat(parts, dim=1)
