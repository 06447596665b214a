"""LoRA on the projections of attention, whatever a family calls them."""

from __future__ import annotations

import re
from typing import Any

from torch import nn

from plant_plugin.config.options import LoraOptions
from plant_plugin.errors import ConfigError
from plant_plugin.networks.backbone.loading import needs_extra

ATTENTION = re.compile(r"attn|attention", re.IGNORECASE)


def attention_projections(model: nn.Module) -> list[str]:
    """Names of the linear layers inside attention: query, key, value and output, fused or not.

    They are found by where they stand, not by what they are called: ``self_attn.q_proj`` (Mistral, Llama, Qwen),
    ``self_attn.qkv_proj`` (Phi-3), ``attn.Wqkv`` (ModernBERT), ``attention.self.query`` and ``attention.output.dense``
    (BERT, RoBERTa), ``attention.self.query_global`` (Longformer), ``attn.c_attn`` (GPT-2).
    """
    from transformers.pytorch_utils import Conv1D

    return [
        name
        for name, module in model.named_modules()
        if isinstance(module, nn.Linear | Conv1D) and any(ATTENTION.search(part) for part in name.split(".")[:-1])
    ]


def add_adapters(model: nn.Module, options: LoraOptions) -> Any:
    """Put LoRA adapters (float32, trained) on the projections of attention of a model, and freeze all else.

    Args:
        model: Changed in place.
        options: Rank, scale and dropout.

    Returns:
        peft's model around it.

    Raises:
        MissingExtraError: peft is not installed.
        ConfigError: The model has no linear layer inside an attention.

    Source: Hu et al. 2021, LoRA; values of PLANT, section 3.
    """
    with needs_extra("llm", "network_config: lora"):
        from peft import LoraConfig, get_peft_model
    targets = attention_projections(model)
    if not targets:
        raise ConfigError(
            "no linear layer was found inside an attention",
            where="network_config: lora",
            fix="leave out lora to train the whole model, or use another model",
        )
    config = LoraConfig(r=options.r, lora_alpha=options.alpha, lora_dropout=options.dropout, target_modules=targets)
    return get_peft_model(model, config)


def merge_adapters(model: Any) -> nn.Module:
    """The model itself with the adapters added to its weights; they must not be quantised."""
    merged: nn.Module = model.merge_and_unload() if hasattr(model, "merge_and_unload") else model
    return merged
