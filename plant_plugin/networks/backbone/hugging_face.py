"""A language model of transformers as a backbone: loaded, adapted, and run over windows of long documents.

Shape key: **B** documents · **T** token positions · **H** hidden width · **F** width of a frozen language model.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from importlib.metadata import version
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from plant_plugin.config import registry
from plant_plugin.config.values import Value
from plant_plugin.errors import ConfigError
from plant_plugin.networks.backbone.loading import (
    add_adapters,
    checkpoint_has_weights,
    load_language_model,
    read_config,
)
from plant_plugin.networks.backbone.windows import cut_into_windows
from plant_plugin.networks.encoders import word_encoder
from plant_plugin.networks.options import LoraOptions

if TYPE_CHECKING:
    from transformers import PretrainedConfig

OVERLAP_SHARE = 8  # neighbouring windows share an eighth of their sub-words where nothing else is said
FINGERPRINT_ROWS = 64  # rows of the embedding, to distinguish two models of a family
STATE_DTYPE = torch.bfloat16  # of frozen states
NOT_OF_THE_MODEL = ("_name_or_path", "transformers_version", "architectures", "dtype", "torch_dtype")


class HuggingFaceBackbone(nn.Module):
    """A pretrained encoder or decoder of transformers, by preset, name, folder or file; long documents in windows.

    Only hidden states are computed: no language model head is in memory. A model whose weights are quantised, adapted
    by LoRA or declared frozen is not trained itself and never saved; a checkpoint holds only the adapters.

    Args:
        lm_weight: A preset (``plant list backbones``), a GGUF file, or a name or folder that ``AutoModel`` can load.
        window: Sub-words of a window; None: what the model can take at most.
        overlap: Sub-words that neighbouring windows share; None: an eighth of a window.
        dropout: Dropout of the states, in [0, 1).
        frozen: Leave the model's weights as they are although they are neither quantised nor adapted.
        gradient_checkpointing: Keep only the input of each layer and compute the rest again in the backward pass.
        dequantize: Spread quantised weights out again, to merge adapters into what they were trained on.
        own_dropout: Dropout inside the model, in the place of every rate of its own; None: its own rates.

    ``quantization``, ``lora`` and the others are as in :class:`plant_plugin.networks.options.PLANT`.

    Raises:
        ConfigError: ``lm_weight`` is no model, a window is more than it can take, or options exclude each other.
        MissingExtraError: peft, bitsandbytes or accelerate is needed and not installed.
    """

    def __init__(
        self,
        lm_weight: str,
        window: int | None = None,
        overlap: int | None = 0,
        dropout: float = 0.0,
        quantization: str = "none",
        lora: LoraOptions | None = None,
        frozen: bool = False,
        gradient_checkpointing: bool = False,
        dequantize: bool = False,
        own_dropout: float | None = None,
    ) -> None:
        super().__init__()
        self.frozen = frozen or lora is not None or quantization != "none" or checkpoint_has_weights() is False
        self.config = read_config(lm_weight)
        text_config = self.config.get_text_config()
        self.hidden_size = int(text_config.hidden_size)
        if own_dropout is not None:
            for name in dropout_rates(text_config):
                setattr(text_config, name, own_dropout)
        self.model = load_language_model(lm_weight, self.config, quantization=quantization, frozen=self.frozen)
        self.window, self.overlap = _windows(_longest_input(self.model, text_config), window, overlap)
        if dequantize and quantization != "none":
            self.model = self.model.dequantize()  # type: ignore[operator]
        # A decoder's states depend only on what is to their left, so an overlap helps only its right window.
        self.causal = any(getattr(module, "is_causal", False) for module in self.model.modules())
        self.fingerprint = fingerprint(self.model) if self.frozen else None
        if self.frozen:
            self.model.requires_grad_(False)
        if gradient_checkpointing:
            # not re-entrant: those lose the gradient where the first layer's input needs none
            names = "activation_checkpointing_enable", "gradient_checkpointing_enable"  # transformers' newer and older
            enable = next(getattr(self.model, name) for name in names if hasattr(self.model, name))
            enable({"use_reentrant": False})
        if lora is not None:
            self.model = add_adapters(self.model, lora)
        self.dropout = nn.Dropout(dropout)

    def forward(self, text: Tensor, length: Tensor, mask: Tensor) -> Tensor:
        """Return states (B, T, H) of ``text`` (B, T), at least float32; ``mask`` is false on padding, on the right."""
        states: Tensor = self.dropout(self._joined(text, mask))
        return states

    def _joined(self, text: Tensor, mask: Tensor) -> Tensor:
        if self.window is None or text.shape[1] <= self.window:
            return self._states(text, mask)
        windows = cut_into_windows(mask, self.window, self.overlap, causal=self.causal)
        states = self._states(windows.of(text), windows.of(mask))  # (W, window, H)
        return states[windows.row, windows.column]

    def _states(self, text: Tensor, mask: Tensor) -> Tensor:
        states: Tensor = self.model(input_ids=text, attention_mask=mask.long()).last_hidden_state
        return states.to(torch.promote_types(states.dtype, torch.float32))  # the head's own type


def backbone_class(lm_weight: str) -> type[HuggingFaceBackbone]:
    """Return the class that runs a language model: the target of its preset, else :class:`HuggingFaceBackbone`.

    Raises:
        ConfigError: The target of a user's preset is not derived from that class.
    """
    entry = registry.preset(lm_weight)
    if entry is None:
        return HuggingFaceBackbone
    target: object = entry.load()
    if not (isinstance(target, type) and issubclass(target, HuggingFaceBackbone)):
        what = f"{entry.target} is not derived from HuggingFaceBackbone"
        raise ConfigError(what, where=entry.where, fix="derive it from that class of plant_plugin.networks.backbone")
    return target


class FrozenBackbone(HuggingFaceBackbone):
    """States of a language model that stays as it is, through an encoder of words, which is trained.

    The frozen states are rounded to bfloat16, whether they are computed here or come from
    :mod:`plant_plugin.training.build`, which computes them once and keeps them on disk.

    ``layer`` holds ``kind`` and options of :func:`.encoders.word_encoder`, which is trained. Dropout is that of the
    frozen states. All else is as for a :class:`HuggingFaceBackbone` that is not trained.
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
        """Set the mode of the trained layer; the language model's dropout stays off."""
        super().train(mode)
        self.model.eval()
        return self

    def forward(self, text: Tensor, length: Tensor, mask: Tensor, frozen: Tensor | None = None) -> Tensor:
        """Return states (B, T, H) of ``text`` (B, T), whose ``frozen`` states (B, T, F) may be known already."""
        if frozen is None:
            frozen = self.frozen_states(text, mask)
        wide = next(self.layer.parameters()).dtype
        states: Tensor = self.layer(self.dropout(frozen.to(wide)), length)
        return states

    @torch.no_grad()
    def frozen_states(self, text: Tensor, mask: Tensor) -> Tensor:
        """Compute the states (B, T, F) of the language model, bfloat16."""
        return self._joined(text, mask).to(STATE_DTYPE)

    def content_hash(self) -> str:
        """Return the SHA-256 (hex) of weights, configuration and window, on which the frozen states depend."""
        config = {name: value for name, value in self.config.to_dict().items() if name not in NOT_OF_THE_MODEL}
        content = [version("transformers"), self.window, self.overlap, config]
        digest = hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode())
        for name, weight in sorted(self.model.state_dict().items()):
            digest.update(f"{name} {tuple(weight.shape)} {weight.dtype}".encode())
            digest.update(weight.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)
        return digest.hexdigest()


def dropout_rates(config: PretrainedConfig) -> list[str]:
    """Return the names of the rates of dropout in a model's configuration.

    Families call them ``hidden_dropout_prob``, ``attention_dropout``, ``resid_pdrop``, …; ``layerdrop`` leaves out
    whole layers and is none.
    """
    rates = {name: value for name, value in config.to_dict().items() if "drop" in name and "layer" not in name}
    return [name for name, value in rates.items() if type(value) in (int, float)]  # a 0 may be an int there


def _windows(longest: int | None, window: int | None, overlap: int | None) -> tuple[int | None, int]:
    """Check the window and fill in what is None."""
    if window is not None and longest is not None and window > longest:
        what = f"the window of {window} sub-words is longer than the {longest} that the model can take"
        raise ConfigError(what, where="network_config: lm_window", fix=f"set lm_window to at most {longest}")
    window = window or longest
    if window is None:
        return None, 0
    return window, window // OVERLAP_SHARE if overlap is None else overlap


def _longest_input(model: nn.Module, config: PretrainedConfig) -> int | None:
    """Return the number of positions that a model can take; RoBERTa and its like count from after the padding id."""
    longest = getattr(config, "max_position_embeddings", None)
    if longest is None or longest <= 0:
        return None
    tables = [module for name, module in model.named_modules() if name.endswith("position_embeddings")]
    padding = [getattr(table, "padding_idx", None) for table in tables]
    return int(longest) - max((index + 1 for index in padding if index is not None), default=0)


def fingerprint(model: nn.Module) -> str:
    """Return the SHA-256 (hex) of a model's small weights, the same on every device and in every type of numbers."""
    embedding: Tensor = model.get_input_embeddings().weight[:FINGERPRINT_ROWS]  # type: ignore[operator]
    small = [(name, weight) for name, weight in sorted(model.named_parameters()) if weight.ndim == 1]
    digest = hashlib.sha256()
    for name, weight in [("embedding", embedding), *small]:
        digest.update(name.encode())
        digest.update(weight.detach().cpu().to(torch.bfloat16).contiguous().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()
