"""Word embeddings under an encoder, trained through whole documents or through their last words.

Shape key: **B** documents · **T** token positions · **H** hidden width · **S** positions without a gradient · **G**
last positions, with one.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from plant_plugin.config.values import Value
from plant_plugin.networks.encoders import (
    SameLengthCNN,
    SameLengthRNN,
    TanhConvolution,
    carry_on,
    one_direction,
    state_at_zero,
    turned,
    word_encoder,
)

CONTEXT = 0.3  # of a drawn convolution's weights, where it passes words on


class EmbeddedWords(nn.Module):
    """Word embeddings, which start as ``vectors`` (V, dim), whose row 0 is padding, under an encoder of embedded words.

    That is called with ``embedded`` (B, T, dim) and ``length`` (B,) and returns (B, T, hidden_size).
    """

    def __init__(self, encoder: nn.Module, hidden_size: int, vectors: Tensor, embed_dropout: float) -> None:
        super().__init__()
        self.embedding = nn.Embedding.from_pretrained(vectors.clone().float(), freeze=False, padding_idx=0)
        self.dropout = nn.Dropout(embed_dropout)
        self.encoder, self.hidden_size = encoder, hidden_size

    def layers(self) -> list[list[nn.Parameter]]:
        """Parameters from the bottom up: the embeddings, then the encoder."""
        return [[*self.embedding.parameters()], [*self.encoder.parameters()]]

    def word_tables(self) -> list[Tensor]:
        """What has a row for each word."""
        return [self.embedding.weight]

    @property
    def passes_words_on(self) -> bool:
        """Whether the encoder is one layer of convolutions over words, so that :meth:`pass_words_on` can be called."""
        return isinstance(self.encoder, SameLengthCNN | TanhConvolution)

    def pass_words_on(self) -> None:
        """Start as the tanh of each word's own vector, with a little of the drawn convolutions beside it."""
        assert isinstance(self.encoder, SameLengthCNN | TanhConvolution)
        start = 0
        for convolution in self.encoder.modules():
            if isinstance(convolution, nn.Conv1d):
                width, channels = convolution.kernel_size[0], convolution.out_channels
                centre = (width - 1 + self.encoder.later_centre) // 2
                with torch.no_grad():
                    convolution.weight *= CONTEXT
                    for channel in range(min(channels, convolution.in_channels - start)):
                        convolution.weight[channel, start + channel, centre] += 1
                start += channels

    def forward(self, text: Tensor, length: Tensor, mask: Tensor) -> Tensor:
        """States (B, T, H) of ``text`` (B, T)."""
        states: Tensor = self.encoder(self.dropout(self.embedding(text)), length)
        return states


class WordBackbone(EmbeddedWords):
    """Word embeddings and one of our encoders, with the options of :func:`.encoders.word_encoder`."""

    def __init__(self, kind: str, vectors: Tensor, *, embed_dropout: float = 0.2, **options: Value) -> None:
        encoder, hidden_size = word_encoder(kind, vectors.shape[1], **options)
        super().__init__(encoder, hidden_size, vectors, embed_dropout)


class StatefulWords(WordBackbone):
    """A recurrent encoder that is trained through the last words of each document only.

    What stands before is encoded in segments of as many words without a gradient; either direction hands its state from
    segment to segment. So all states are those of the whole document, and the label attention reads them all; what the
    backward pass keeps of the encoder does not grow with the document. In evaluation this is its parent.

    ``gradient_tokens``, at least 1, are these last words; the encoder is a ``bigru`` or ``bilstm``.

    Source: the earlier PLANT paper ("to handle longer texts, we employ our stateful decoder"), after the classifier of
    Howard and Ruder 2018. Deviation: no second state over labels; the attention over all cached states is exact.
    """

    def __init__(self, kind: str, vectors: Tensor, gradient_tokens: int, **options: Value) -> None:
        super().__init__(kind, vectors, **options)
        self.gradient_tokens = gradient_tokens

    def forward(self, text: Tensor, length: Tensor, mask: Tensor) -> Tensor:
        """States (B, T, H) of ``text`` (B, T)."""
        length = length.to(text.device).clamp(min=1)
        start = (length - self.gradient_tokens).clamp(min=0)  # (B,): where the last words begin
        early = int(start.max())
        if not (early and self.training and torch.is_grad_enabled()):
            return super().forward(text, length, mask)
        places = start[:, None] + torch.arange(int((length - start).max()), device=text.device)  # (B, G)
        last = text.gather(1, places.clamp(max=text.shape[1] - 1))
        with torch.autocast(text.device.type, enabled=False):  # one width of numbers for the states that are carried
            with torch.no_grad():
                before = self.dropout(self.embedding(text[:, :early]))  # (B, S, dim)
            before, behind = self._encoded(before, self.dropout(self.embedding(last)), start, length - start)
        positions = torch.arange(text.shape[1], device=text.device).expand_as(text)
        place = torch.where(positions < start[:, None], positions, early + positions - start[:, None])
        joined = torch.cat([before, behind], dim=1)
        documents = torch.arange(len(text), device=text.device)[:, None]
        found = joined[documents, place.clamp(max=joined.shape[1] - 1)]  # gather would keep what it picks from
        return found.masked_fill((positions >= length[:, None])[..., None], 0.0)

    def _encoded(self, before: Tensor, last: Tensor, start: Tensor, length: Tensor) -> tuple[Tensor, Tensor]:
        """States (B, S, H) without a gradient and (B, G, H) with one, of which ``start`` and ``length`` (B,) count."""
        assert isinstance(self.encoder, SameLengthRNN)
        encoder, rnn = self.encoder.encoder, self.encoder.encoder.rnn
        for layer in range(rnn.num_layers):
            forward, backward = f"l{layer}", f"l{layer}_reverse"
            before_forward, state = self._carried(rnn, forward, before, start, state_at_zero(rnn, before))
            last_forward = one_direction(rnn, forward, last, state)
            last_turned = turned(last, length)
            last_backward = one_direction(rnn, backward, last_turned)
            _, state = self._carried(rnn, backward, last_turned, length, state_at_zero(rnn, last))
            before_backward, _ = self._carried(rnn, backward, turned(before, start), start, state)
            before = torch.cat([before_forward, turned(before_backward, start)], dim=2)
            last = torch.cat([last_forward, turned(last_backward, length)], dim=2)
            if layer < rnn.num_layers - 1:
                before, last = (nn.functional.dropout(part, rnn.dropout, self.training) for part in (before, last))
        return encoder.post_encoder_dropout(before), encoder.post_encoder_dropout(last)

    def _carried(
        self, rnn: nn.GRU | nn.LSTM, suffix: str, states: Tensor, length: Tensor, state: tuple[Tensor, ...]
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Outputs of one direction over all segments, and the state behind the last."""
        outputs = []
        for first in range(0, states.shape[1], self.gradient_tokens):
            segment = states[:, first : first + self.gradient_tokens]
            found, state = carry_on(rnn, suffix, segment, (length - first).clamp(0, segment.shape[1]), state)
            outputs.append(found)
        return torch.cat(outputs, dim=1), state
