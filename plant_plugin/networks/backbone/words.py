"""Word embeddings under an encoder.

Shape key: **B** documents · **T** token positions · **H** hidden width.
"""

from __future__ import annotations

from torch import Tensor, nn

from plant_plugin.config.values import Value
from plant_plugin.networks.encoders import word_encoder


class Backbone(nn.Module):
    """An encoder, called with ``text`` (B, T), ``length`` (B,) and ``mask`` (B, T); returns states (B, T, H)."""

    hidden_size: int  # H


class EmbeddedWords(Backbone):
    """Word embeddings, which start as ``vectors`` (V, dim), whose row 0 is padding, under an encoder of embedded words.

    The encoder is called with ``embedded`` (B, T, dim) and ``length`` (B,) and returns (B, T, hidden_size).
    """

    def __init__(self, encoder: nn.Module, hidden_size: int, vectors: Tensor, embed_dropout: float) -> None:
        super().__init__()
        self.embedding = nn.Embedding.from_pretrained(vectors.clone().float(), freeze=False, padding_idx=0)
        self.dropout = nn.Dropout(embed_dropout)
        self.encoder, self.hidden_size = encoder, hidden_size

    def layers(self) -> list[list[nn.Parameter]]:
        """Return the parameters from the bottom up: the embeddings, then the encoder."""
        return [[*self.embedding.parameters()], [*self.encoder.parameters()]]

    def word_tables(self) -> list[Tensor]:
        """Return the parameter with a row for each word."""
        return [self.embedding.weight]

    def forward(self, text: Tensor, length: Tensor, mask: Tensor) -> Tensor:
        """Return states (B, T, H) of ``text`` (B, T)."""
        states: Tensor = self.encoder(self.dropout(self.embedding(text)), length)
        return states


class WordBackbone(EmbeddedWords):
    """Word embeddings and one of our encoders, with the options of :func:`.encoders.word_encoder`."""

    def __init__(self, kind: str, vectors: Tensor, *, embed_dropout: float = 0.2, **options: Value) -> None:
        encoder, hidden_size = word_encoder(kind, vectors.shape[1], **options)
        super().__init__(encoder, hidden_size, vectors, embed_dropout)
