"""A language model from a preset, name, folder or GGUF file into memory, quantised and adapted if so configured."""

from __future__ import annotations

import contextlib
import logging
import os
import re
from collections.abc import Iterator
from contextvars import ContextVar
from typing import TYPE_CHECKING

import torch
from torch import nn

from plant_plugin.config.values import Keys
from plant_plugin.errors import ConfigError, PlantError, needs_extra
from plant_plugin.networks.backbone.gguf import language_model
from plant_plugin.networks.fetching import stays_here
from plant_plugin.networks.hub import stay_off
from plant_plugin.networks.options import LoraOptions

if TYPE_CHECKING:
    from transformers import PretrainedConfig

HUB_KERNEL = "_attn_implementation_internal"  # transformers' name, of `attn_implementation` in config.json
PACKS_ON_CPU = "support_avx512bf16_for_cpu"  # of bitsandbytes' 4-bit layers
NAME_ANOTHER = "name an encoder (BERT, RoBERTa, ModernBERT, Longformer) or a decoder (Mistral, Llama, Phi-3, Qwen)"
ATTENTION = re.compile(r"attn|attention", re.IGNORECASE)
LORA_ALPHA, LORA_DROPOUT = 32, 0.05  # the paper's: adapters' output is multiplied with alpha / r; of their input
stay_off()
_device: ContextVar[torch.device | None] = ContextVar("_device", default=None)
_in_checkpoint: ContextVar[bool | None] = ContextVar("_in_checkpoint", default=None)


def read_config(lm_weight: str) -> PretrainedConfig:
    """Read the configuration of a language model: its shape, no weights.

    Raises:
        ConfigError: Nothing of that name can be loaded, or it is an encoder with a decoder.
    """
    from transformers import AutoConfig

    name = language_model(lm_weight)
    with _errors_named(lm_weight):
        config: PretrainedConfig = AutoConfig.from_pretrained(
            name, trust_remote_code=False, local_files_only=stays_here()
        )
    kernels = [part for part in (config, config.get_text_config()) if "/" in str(getattr(part, HUB_KERNEL, None))]
    if kernels:  # compiled code that transformers would download and run
        what, where = "it names a kernel on the hub, which is code", f"{lm_weight}: attn_implementation"
        raise ConfigError(what, where=where, fix="leave it out")
    if config.is_encoder_decoder:
        what = f"{lm_weight!r} is an encoder with a decoder; the label attention needs one row of states"
        raise ConfigError(what, where="network_config: lm_weight", fix=NAME_ANOTHER)
    return config


def load_language_model(
    lm_weight: str,
    config: PretrainedConfig,
    *,
    quantization: str = "none",
    frozen: bool = False,
) -> nn.Module:
    """Load a model without its language model head, in evaluation mode; draw its weights where a checkpoint has them.

    Weights that train are float32. Those that do not are bfloat16 (or float16) on a GPU and float32 on a CPU, but for
    the quantised ones.

    Raises:
        ConfigError: No weights can be loaded, or they read no text.
        MissingExtraError: bitsandbytes or accelerate is needed and not installed.
    """
    from transformers import AutoModel

    config.use_cache = False  # keys and values of earlier positions are for generating text
    width = _narrow_type() if frozen else torch.float32
    options: Keys = {"trust_remote_code": False}
    drawn = checkpoint_has_weights()
    if quantization != "none":
        if drawn:
            what, fix = "quantised weights are in no checkpoint", "use the configuration of the training run"
            raise ConfigError(what, where="network_config: quantization", fix=fix)
        options |= {"quantization_config": _quantization(quantization), "device_map": {"": _place()}}
    with _errors_named(lm_weight):
        if drawn:
            model: nn.Module = AutoModel.from_config(config, dtype=width, **options)
        else:
            name = language_model(lm_weight)
            options["local_files_only"] = stays_here()
            model = AutoModel.from_pretrained(name, config=config, dtype=width, **options)
    if model.main_input_name != "input_ids":
        what = f"{lm_weight!r} reads {model.main_input_name}, not text"
        raise ConfigError(what, where="network_config: lm_weight", fix=NAME_ANOTHER)
    for module in model.modules():
        # else bitsandbytes packs the weights anew at the first evaluation on a processor with AVX-512 bf16: other
        # numbers than elsewhere, in training after it too, and an error where a width is no multiple of 64
        if hasattr(module, PACKS_ON_CPU):
            setattr(module, PACKS_ON_CPU, False)
    return model


@contextlib.contextmanager
def made_on(device: torch.device) -> Iterator[None]:
    """Make weights that do not train for a device, inside a `with`: in its type, and on it where they are quantised.

    Weights of 8 bits cannot be moved to another device. Outside, the device is the GPU where there is one.
    """
    before = _device.set(device)
    try:
        yield
    finally:
        _device.reset(before)


@contextlib.contextmanager
def of_checkpoint(*, has_weights: bool) -> Iterator[None]:
    """Make language models for a checkpoint, inside a `with`: drawn if it has their weights, else loaded and frozen."""
    before = _in_checkpoint.set(has_weights)
    try:
        yield
    finally:
        _in_checkpoint.reset(before)


def checkpoint_has_weights() -> bool | None:
    """Tell whether the checkpoint that a language model is made for has its weights; None: there is no checkpoint."""
    return _in_checkpoint.get()


def _place() -> torch.device:
    device = _device.get() or torch.device("cuda" if torch.cuda.is_available() else "cpu")
    local = device.type == "cuda" and device.index is None
    return torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0))) if local else device


@contextlib.contextmanager
def _errors_named(lm_weight: str) -> Iterator[None]:
    """Turn any error of transformers into one ``ConfigError``: this is no model. The package's errors pass."""
    try:
        yield
    except PlantError:  # larger than it may be
        raise
    except Exception as error:
        what = f"{lm_weight!r} is no model that transformers can load ({type(error).__name__})"
        fix = (
            "give a preset (`plant list backbones`), the name of a model on the hub that this machine can download, a "
            "GGUF file, or a folder with config.json and weights; none with code of its own is run"
        )
        if stays_here() and not os.path.exists(lm_weight):
            what = f"{lm_weight!r} is not on this machine, and nothing is fetched that only a model's folder names"
            fix = "if you trust that name: `hf download NAME`, then do it again"
        raise ConfigError(what, where="network_config: lm_weight", fix=fix) from error


def _narrow_type() -> torch.dtype:
    """Return the type of weights that do not train: narrow on a GPU, float32 on a CPU (no faster there without AMX)."""
    if _place().type != "cuda":
        return torch.float32
    return torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float16


def _quantization(kind: str) -> object:
    with needs_extra("llm", where="network_config: quantization"):
        import accelerate  # noqa: F401 transformers places quantised weights through it
        import bitsandbytes  # noqa: F401
    from transformers import BitsAndBytesConfig

    if kind == "int8":
        logging.getLogger("bitsandbytes.autograd._functions").setLevel(logging.ERROR)  # a warning a step of bf16
        return BitsAndBytesConfig(load_in_8bit=True)
    return BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_use_double_quant=True,
        bnb_4bit_compute_dtype=_narrow_type(),
    )


def attention_projections(model: nn.Module) -> list[str]:
    """Return the names of the linear layers inside attention: query, key, value and output, fused or not.

    They are found by their place, not by their name: ``self_attn.q_proj`` (Mistral, Llama, Qwen),
    ``self_attn.qkv_proj`` (Phi-3), ``attn.Wqkv`` (ModernBERT), ``attention.self.query`` and ``attention.output.dense``
    (BERT, RoBERTa), ``attention.self.query_global`` (Longformer), ``attn.c_attn`` (GPT-2).
    """
    from transformers.pytorch_utils import Conv1D

    return [
        name
        for name, module in model.named_modules()
        if isinstance(module, nn.Linear | Conv1D) and any(ATTENTION.search(part) for part in name.split(".")[:-1])
    ]


def add_adapters(model: nn.Module, options: LoraOptions) -> nn.Module:
    """Put LoRA adapters (float32, trained) on the projections of attention of a model, in place, and freeze all else.

    Raises:
        MissingExtraError: peft is not installed.
        ConfigError: The model has no linear layer inside an attention.

    Source: Hu et al. 2021, LoRA; values of PLANT, section 3.
    """
    with needs_extra("llm", where="network_config: lora"):
        from peft import LoraConfig, get_peft_model
    targets = attention_projections(model)
    if not targets:
        fix = "leave out lora to train the whole model, or use another model"
        raise ConfigError("no linear layer was found inside an attention", where="network_config: lora", fix=fix)
    config = LoraConfig(r=options.r, lora_alpha=LORA_ALPHA, lora_dropout=LORA_DROPOUT, target_modules=targets)
    return get_peft_model(model, config)


def merge_adapters(model: nn.Module) -> nn.Module:
    """Add the adapters to the weights, which must not be quantised, and return the model itself."""
    merge = getattr(model, "merge_and_unload", None)
    merged: nn.Module = model if merge is None else merge()
    return merged
