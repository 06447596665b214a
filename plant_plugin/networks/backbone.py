"""Encoders of token ids to states (B, T, H): LibMultiLabel's word-level encoders and Hugging Face models.

Shape key: **B** documents · **T** token positions · **H** hidden width.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from plant_plugin.errors import ConfigError
from plant_plugin.host import word_encoder


class EmbeddedWords(nn.Module):
    """Word embeddings under any encoder of embedded words.

    Args:
        encoder: Called with ``embedded`` (B, T, dim) and ``length`` (B,); returns (B, T, H).
        hidden_size: H.
        vectors: (V, dim) start values of the word embeddings; row 0 is padding.
        embed_dropout: Dropout of the embedded words, in [0, 1).
    """

    def __init__(self, encoder: nn.Module, hidden_size: int, vectors: Tensor, embed_dropout: float) -> None:
        super().__init__()
        self.embedding = nn.Embedding.from_pretrained(vectors.clone().float(), freeze=False, padding_idx=0)
        self.dropout = nn.Dropout(embed_dropout)
        self.encoder, self.hidden_size = encoder, hidden_size

    def forward(self, text: Tensor, length: Tensor, mask: Tensor) -> Tensor:
        """States (B, T, H) of ``text`` (B, T)."""
        states: Tensor = self.encoder(self.dropout(self.embedding(text)), length)
        return states


class WordBackbone(EmbeddedWords):
    """Word embeddings and one of LibMultiLabel's encoders.

    Args:
        kind: ``cnn``, ``bigru`` or ``bilstm``.
        vectors: (V, dim) start values of the word embeddings; row 0 is padding.
        embed_dropout: Dropout of the embedded words, in [0, 1).
        options: What :func:`plant_plugin.host.word_encoder` takes.
    """

    def __init__(self, kind: str, vectors: Tensor, *, embed_dropout: float = 0.2, **options: Any) -> None:
        encoder, hidden_size = word_encoder(kind, vectors.shape[1], **options)
        super().__init__(encoder, hidden_size, vectors, embed_dropout)


class HuggingFaceBackbone(nn.Module):
    """A pretrained encoder or decoder of transformers, by name or folder; documents longer than it in windows.

    A document of more than ``window`` sub-words is cut into windows that follow each other without overlap; their
    states are joined again before the label attention.

    Args:
        lm_weight: Name or folder that ``AutoModel`` can load.
        window: Sub-words of a window; None: what the model can take at most.
        from_scratch: Take only the model's configuration and draw the weights (to load a checkpoint into).
        dropout: Dropout of the states, in [0, 1).

    Raises:
        ConfigError: ``lm_weight`` is no model, or ``window`` is more than the model can take.
    """

    def __init__(
        self, lm_weight: str, window: int | None = None, from_scratch: bool = False, dropout: float = 0.0
    ) -> None:
        super().__init__()
        from transformers import AutoConfig, AutoModel

        try:
            config = AutoConfig.from_pretrained(lm_weight)
            self.model = AutoModel.from_config(config) if from_scratch else AutoModel.from_pretrained(lm_weight)
        except (OSError, ValueError) as error:
            raise ConfigError(
                f"{lm_weight!r} is no model that transformers can load ({type(error).__name__})",
                where="network_config: lm_weight",
                fix="give the name of a model on the hub, or a folder with its config.json and weights",
            ) from error
        self.hidden_size = int(config.hidden_size)
        longest = _longest_input(config)
        if window is not None and longest is not None and window > longest:
            raise ConfigError(
                f"the window of {window} sub-words is longer than the {longest} that the model can take",
                where="network_config: lm_window",
                fix=f"set lm_window to at most {longest}",
            )
        self.window = window or longest
        self.dropout = nn.Dropout(dropout)

    def forward(self, text: Tensor, length: Tensor, mask: Tensor) -> Tensor:
        """States (B, T, H) of ``text`` (B, T); padding is masked by ``mask``, whatever id it has."""
        states: Tensor = self.dropout(self._joined(text, mask))
        return states

    def _joined(self, text: Tensor, mask: Tensor) -> Tensor:
        positions = text.shape[1]
        if self.window is None or positions <= self.window:
            return self._states(text, mask)
        padding = -positions % self.window
        windows = nn.functional.pad(text, (0, padding), value=int(text[0, 0])).view(-1, self.window)
        real = nn.functional.pad(mask, (0, padding)).view(-1, self.window)
        filled = real.any(dim=1)  # windows that hold only padding cost nothing
        states = self._states(windows[filled], real[filled])
        joined = states.new_zeros(len(windows), self.window, self.hidden_size)
        joined[filled] = states
        return joined.view(len(text), -1, self.hidden_size)[:, :positions]

    def _states(self, text: Tensor, mask: Tensor) -> Tensor:
        states: Tensor = self.model(input_ids=text, attention_mask=mask.long()).last_hidden_state
        return states


def _longest_input(config: Any) -> int | None:
    """Positions that a model can take; RoBERTa's numbering starts behind the padding id."""
    longest = getattr(config, "max_position_embeddings", None)
    if longest is None or longest <= 0:
        return None
    roberta_like = config.model_type in {"roberta", "xlm-roberta", "camembert", "longformer", "mpnet"}
    return int(longest) - (config.pad_token_id + 1 if roberta_like else 0)


def real_positions(embedded: Tensor, length: Tensor) -> Tensor:
    """Mask (B, T) of the positions of ``embedded`` (B, T, dim) that are within ``length`` (B,)."""
    return torch.arange(embedded.shape[1], device=embedded.device) < length.to(embedded.device)[:, None]
