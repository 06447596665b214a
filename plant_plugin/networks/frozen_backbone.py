"""A language model that is not trained, under a small layer that is: for machines without a GPU.

Shape key: **B** documents · **T** token positions · **F** width of the language model · **H** hidden width.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from importlib.metadata import version

import torch
from torch import Tensor

from plant_plugin.config.values import Value
from plant_plugin.networks.backbone import HuggingFaceBackbone
from plant_plugin.networks.encoders import word_encoder

STATE_DTYPE = torch.bfloat16
NOT_OF_THE_MODEL = ("_name_or_path", "transformers_version", "architectures", "dtype", "torch_dtype")


class FrozenBackbone(HuggingFaceBackbone):
    """States of a language model that stays as it is, through an encoder of words, which is trained.

    The frozen states are rounded to bfloat16, whether they are computed here or come from
    :mod:`plant_plugin.training.build`, which computes them once and keeps them on disk.

    ``layer`` is what is trained, ``kind`` and options of :func:`.encoders.word_encoder`; dropout is that of the frozen
    states; all else as for a :class:`HuggingFaceBackbone` that is not trained.
    """

    def __init__(
        self,
        lm_weight: str,
        layer: Mapping[str, Value],
        window: int | None = None,
        overlap: int | None = None,
        dropout: float = 0.0,
        **options: Value,
    ) -> None:
        super().__init__(lm_weight, window, overlap, dropout=dropout, frozen=True, **options)
        self.model.eval()
        self.frozen_size = self.hidden_size
        self.layer, self.hidden_size = word_encoder(input_size=self.frozen_size, **layer)

    def train(self, mode: bool = True) -> FrozenBackbone:
        """Switch the trained layer; the language model keeps its dropout off."""
        super().train(mode)
        self.model.eval()
        return self

    def forward(self, text: Tensor, length: Tensor, mask: Tensor, frozen: Tensor | None = None) -> Tensor:
        """States (B, T, H) of ``text`` (B, T), whose ``frozen`` states (B, T, F) may be known already."""
        if frozen is None:
            frozen = self.frozen_states(text, mask)
        wide = next(self.layer.parameters()).dtype
        states: Tensor = self.layer(self.dropout(frozen.to(wide)), length)
        return states

    @torch.no_grad()
    def frozen_states(self, text: Tensor, mask: Tensor) -> Tensor:
        """States (B, T, F) of the language model, bfloat16."""
        return self._joined(text, mask).to(STATE_DTYPE)

    def content_hash(self) -> str:
        """SHA-256 (hex) over what the frozen states depend on beside the tokens: weights, configuration, window."""
        config = {name: value for name, value in self.config.to_dict().items() if name not in NOT_OF_THE_MODEL}
        content = [version("transformers"), self.window, self.overlap, config]
        digest = hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode())
        for name, weight in sorted(self.model.state_dict().items()):
            digest.update(f"{name} {tuple(weight.shape)} {weight.dtype}".encode())
            digest.update(weight.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)
        return digest.hexdigest()
