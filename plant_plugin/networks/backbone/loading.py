"""From a preset, name or folder to a language model in memory, quantised or not."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Any

import torch
from safetensors import SafetensorError
from torch import nn

from plant_plugin.config import registry
from plant_plugin.errors import ConfigError, MissingExtraError

QUANTIZATIONS = ("none", "nf4", "int8")


@contextlib.contextmanager
def needs_extra(extra: str, where: str) -> Iterator[None]:
    """Turn a failing import in the block into the sentence that names the extra.

    Raises:
        MissingExtraError: Something imported in the block is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            f"{error.name} is not installed", where=where, fix=f"pip install 'plant-plugin[{extra}]'"
        ) from error


def read_config(lm_weight: str, trust_remote_code: bool = False) -> Any:
    """The configuration of a language model: its shape, no weights.

    Raises:
        ConfigError: Nothing of that name can be loaded, or it is an encoder with a decoder.
    """
    from transformers import AutoConfig

    name = registry.language_model(lm_weight)
    try:
        config = AutoConfig.from_pretrained(name, trust_remote_code=trust_remote_code)
    except (OSError, ValueError, ImportError) as error:
        raise _no_model(lm_weight, error) from error
    if config.is_encoder_decoder:
        raise ConfigError(
            f"{lm_weight!r} is an encoder with a decoder; the label attention needs one row of states",
            where="network_config: lm_weight",
            fix="name an encoder (BERT, RoBERTa, ModernBERT, Longformer) or a decoder (Mistral, Llama, Phi-3, Qwen)",
        )
    return config


def load_language_model(
    lm_weight: str,
    config: Any,
    *,
    quantization: str = "none",
    from_scratch: bool = False,
    frozen: bool = False,
    trust_remote_code: bool = False,
) -> nn.Module:
    """The model without a language model head, in evaluation mode.

    Weights that train are float32. Those that do not are bfloat16 (or float16) on a GPU and float32 on a CPU, but for
    the quantised ones.

    Raises:
        ConfigError: The weights cannot be loaded, ``quantization`` is unknown, or drawn weights are to be quantised.
        MissingExtraError: bitsandbytes or accelerate is needed and not installed.
    """
    from transformers import AutoModel

    if quantization not in QUANTIZATIONS:
        raise ConfigError(
            f"there is no quantization {quantization!r}",
            where="network_config: quantization",
            fix=f"one of {', '.join(QUANTIZATIONS)}",
        )
    config.use_cache = False  # keys and values of earlier positions are for generating text
    width = narrow_type() if frozen else torch.float32
    options: dict[str, Any] = {"trust_remote_code": trust_remote_code}
    if from_scratch:
        if quantization != "none":
            raise ConfigError(
                "drawn weights are not quantised",
                where="network_config: lm_from_scratch",
                fix="leave out quantization, or save the model to a folder and name that as lm_weight",
            )
        drawn: nn.Module = AutoModel.from_config(config, dtype=width, **options)
        return drawn
    if quantization != "none":
        options |= {"quantization_config": _quantization(quantization), "device_map": {"": _device()}}
    try:
        name = registry.language_model(lm_weight)
        model: nn.Module = AutoModel.from_pretrained(name, config=config, dtype=width, **options)
    except (OSError, ValueError, ImportError, SafetensorError) as error:
        raise _no_model(lm_weight, error) from error
    return model


def narrow_type() -> torch.dtype:
    """The type of weights that do not train: narrow on a GPU, float32 on a CPU (no gain in speed there without AMX)."""
    if not torch.cuda.is_available():
        return torch.float32
    return torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float16


def _device() -> Any:
    """Quantised weights are made where they are used: the GPU of this process, else the CPU."""
    return int(os.environ.get("LOCAL_RANK", 0)) if torch.cuda.is_available() else "cpu"


def _quantization(kind: str) -> Any:
    with needs_extra("llm", "network_config: quantization"):
        import accelerate  # noqa: F401 transformers places quantised weights through it
        import bitsandbytes  # noqa: F401
    from transformers import BitsAndBytesConfig

    if kind == "int8":
        return BitsAndBytesConfig(load_in_8bit=True)
    return BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_use_double_quant=True,
        bnb_4bit_compute_dtype=narrow_type(),
    )


def _no_model(lm_weight: str, error: Exception) -> ConfigError:
    return ConfigError(
        f"{lm_weight!r} is no model that transformers can load ({type(error).__name__})",
        where="network_config: lm_weight",
        fix="give a preset (`plant list backbones`), the name of a model on the hub that this machine can download, or "
        "a folder with its config.json and weights; a model with code of its own needs trust_remote_code: true",
    )
