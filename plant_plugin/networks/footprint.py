"""What training PLANT over a language model needs: parameters, memory and arithmetic, from shapes alone.

Word-level encoders: :mod:`plant_plugin.networks.footprint_words`.

Shape key: **B** documents · **T** token positions · **L** labels · **H** hidden width · **A** heads · **M** chosen
labels of a document.

The model is made without memory (PyTorch's ``meta`` device), so parameters are counted, not estimated. Activations are
what one layer's backward pass keeps, added up from its linear layers; tests count the kept tensors beside it. Attention
is taken to be computed without its T × T weights (sdpa, flash attention).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from plant_plugin.config.options import LoraOptions
from plant_plugin.networks.backbone.adapters import attention_projections
from plant_plugin.networks.label_attention_head import LabelAttentionHead

FLOAT = 4
STORED = {"nf4": 0.5 + 1 / 64 + 4 / (64 * 256), "int8": 1.0}  # bytes of a weight; nf4: 8-bit scales of 64, and theirs
TRAINING = 3 * FLOAT  # gradient and two moments of Adam, for every parameter that trains
STATE_COPIES = 5  # states, keys, values, and the gradients of the last two (B, T, H)
SELECTED_COPIES = 4  # queries and outputs (B, M, H) of the chosen labels, and their gradients
SCORE_COPIES = 4  # scores (B, M, T) of stage 1, relevance, gradient and room to work


@dataclass(frozen=True)
class Plan:
    """What is to be trained.

    Attributes:
        batch_size: B.
        tokens: T, of the longest document of a batch.
        labels: L.
        ranked: Labels of a document whose attention stage 1 trains by gradient; 0: none.
        chosen: Labels of a document that get a gradient in stage 2.
        num_heads: A.
        pool_size: P.
        quantization: ``nf4``, ``int8`` or ``none``.
        lora: Its options, or None.
        frozen: The language model does not train.
        gradient_checkpointing: Only the input of each layer is kept.
        narrow: Bytes of an activation: 2 under autocast, else 4.
        stored: Bytes of a weight that neither trains nor is quantised.
        noise: Bytes of a dropout's mask: 1 on a GPU, 4 on a CPU.
        prior: Whether a prior is planted.
        dense_relevance: Whether the relevance of a batch is a dense table, as on a GPU.
        gradient_tokens: Last tokens of a document through which the encoder is trained; None: all.
        lm_window: Sub-words of a window over long documents; None: what the model can take.
    """

    batch_size: int
    tokens: int
    labels: int
    ranked: int = 0
    chosen: int = 1000
    num_heads: int = 8
    pool_size: int = 128
    quantization: str = "none"
    lora: LoraOptions | None = None
    frozen: bool = False
    gradient_checkpointing: bool = False
    narrow: int = 2
    stored: int = 2
    noise: int = 1
    prior: bool = False
    dense_relevance: bool = False
    gradient_tokens: int | None = None
    lm_window: int | None = None

    def trained_tokens(self, window: int = 0) -> int:
        """Tokens of the longest document that have a gradient in the encoder, in whole windows of a language model."""
        if self.gradient_tokens is None or self.tokens <= window:
            return self.tokens
        return min(self.tokens, self.gradient_tokens + window)


@dataclass(frozen=True)
class Footprint:
    """The answer.

    Attributes:
        parameters: Of the language model without a language model head, adapters left out.
        trained: Parameters that train, the head's included.
        bytes: Part -> bytes; their sum is the expected peak.
        checkpoint: Bytes of ``model.safetensors``.
        flops: Arithmetic of one token in one training step, forward and backward.
    """

    parameters: int
    trained: int
    bytes: dict[str, int]
    checkpoint: int
    flops: float

    @property
    def total(self) -> int:
        """Bytes at the peak, without what the process and the device's own libraries take."""
        return sum(self.bytes.values())


def footprint(config: Any, plan: Plan) -> Footprint:
    """Parameters, memory and arithmetic of PLANT over a language model.

    Args:
        config: transformers' configuration of the model.
        plan: What is to be trained.
    """
    from transformers import AutoModel

    with torch.device("meta"):
        model = AutoModel.from_config(config)
    width = int(config.get_text_config().hidden_size)
    frozen = plan.frozen or plan.lora is not None or plan.quantization != "none"
    linear = {id(module.weight) for module in model.modules() if isinstance(module, nn.Linear)}
    in_linear = sum(weight.numel() for weight in model.parameters() if id(weight) in linear)
    everything = sum(weight.numel() for weight in model.parameters())
    projections = _projections(model)
    adapters = 0 if plan.lora is None else sum(plan.lora.r * (p.in_features + p.out_features) for p in projections)
    of_head = count_head(width, plan)
    trained = of_head + adapters + (0 if frozen else everything)
    if plan.quantization in STORED:
        weights = int(in_linear * STORED[plan.quantization] + (everything - in_linear) * plan.stored)
    else:
        weights = everything * (plan.stored if frozen else FLOAT)
    parts = {
        "weights of the language model": weights,
        "adapters and head": (adapters + of_head) * FLOAT,
        "gradients and Adam": trained * TRAINING,
        **_activations(model, config, plan, frozen),
        **label_attention(width, plan, len(model.get_input_embeddings().weight)),
    }
    # 2 operations a weight forward, 2 for the states' gradient, 2 for the weights' where they train, 2 to compute anew
    passes = 2 + (not frozen) + plan.gradient_checkpointing
    flops = 2.0 * in_linear * passes + 3 * 4.0 * plan.labels * width
    return Footprint(everything, trained, parts, trained * FLOAT, flops)


def _activations(model: nn.Module, config: Any, plan: Plan, frozen: bool) -> dict[str, int]:
    layers = int(config.get_text_config().num_hidden_layers)
    blocks = next(m for m in model.modules() if isinstance(m, nn.ModuleList) and len(m) == layers)
    text = config.get_text_config()
    window = plan.lm_window or getattr(text, "max_position_embeddings", None) or plan.tokens
    positions, width = plan.batch_size * plan.trained_tokens(window), int(text.hidden_size)
    of_layer = layer_bytes(blocks[0], config, plan, frozen)
    inner, gated = _feed_forward(blocks[0], width)
    room = positions * ((3 if gated else 2) * inner + 2 * width) * plan.narrow  # the widest gradients of one layer
    if not plan.gradient_checkpointing:
        return {"activations": positions * layers * of_layer, "gradients of activations": room}
    inputs = positions * layers * width * plan.narrow
    return {
        "inputs of the layers": inputs,
        "one layer's activations": positions * of_layer,
        "gradients of activations": room,
    }


def _projections(model: nn.Module) -> list[nn.Linear]:
    named = set(attention_projections(model))
    return [m for name, m in model.named_modules() if isinstance(m, nn.Linear) and name in named]


def _feed_forward(layer: nn.Module, width: int) -> tuple[int, bool]:
    """Width of a layer's feed-forward part, and whether one half of it gates the other."""
    inside = set(attention_projections(layer))
    others = [m for name, m in layer.named_modules() if isinstance(m, nn.Linear) and name not in inside]
    inner = max(module.in_features for module in others)
    return inner, sum(module.out_features for module in others if module.out_features != width) == 2 * inner


def layer_bytes(layer: nn.Module, config: Any, plan: Plan, frozen: bool) -> int:
    """Bytes that the backward pass of one layer keeps for each token.

    Args:
        layer: A layer of an encoder or decoder.
        config: transformers' configuration.
        plan: What is to be trained.
        frozen: The layer's own weights do not train.
    """
    text = config.get_text_config()
    width, narrow = int(text.hidden_size), plan.narrow
    attention = _projections(layer)
    inner, gated = _feed_forward(layer, width)
    root_mean_square = getattr(text, "rms_norm_eps", None) is not None
    kept = 2 * width * FLOAT  # what the two norms read, in float32
    reads_inputs = not frozen or plan.quantization == "int8"  # bitsandbytes keeps them for weights that do not train
    if reads_inputs:  # what the linear layers behind the norms read
        kept += 2 * width * narrow
    if not frozen and root_mean_square:  # what the norms' weights read
        kept += 2 * width * FLOAT
    reads = max(module.in_features for module in attention if module.out_features == width)  # the output projection
    fused = [module for module in attention if module.out_features > 2 * reads or module.out_features > 2 * width]
    heads = sum(m.out_features for m in attention) - width  # queries, keys and values together
    kept += narrow * (heads + reads)  # what attention reads and makes
    if fused:  # the values are a part of the fused output, which stays as a whole beside the turned queries and keys
        kept += narrow * (heads - (heads - reads) // 2)
    if plan.lora is not None:
        distinct = {module.in_features: module for module in attention}.values()
        read = attention if plan.lora.dropout else distinct
        mask = plan.noise if plan.lora.dropout else 0
        kept += sum(module.in_features * (narrow + mask) for module in read) + len(attention) * plan.lora.r * narrow
    kept += inner * narrow * ((3 if gated else 1) + reads_inputs)
    if getattr(text, "hidden_dropout_prob", 0.0):
        kept += 2 * width * plan.noise
    return kept


def count_head(width: int, plan: Plan) -> int:
    """Parameters of the head over states of a width."""
    with torch.device("meta"):
        head = LabelAttentionHead(width, plan.labels, plan.num_heads, plan.pool_size, 4.0 if plan.prior else None)
    return sum(weight.numel() for weight in head.parameters())


def label_attention(width: int, plan: Plan, vocabulary: int) -> dict[str, int]:
    """Bytes of the hungrier stage: queries, keys, values and outputs, what chosen labels bring, and their relevance.

    On a GPU relevance is looked up as a table of all labels for the distinct tokens of a batch, with its rows for the
    chosen labels of each document. These tokens are taken to be as many as they can be: real texts repeat their words,
    so this part is an upper bound. On a processor only what is not zero is looked up; that is left out.
    """
    positions, chosen = plan.batch_size * plan.tokens, min(plan.chosen, plan.labels)
    common = FLOAT * (STATE_COPIES * positions * width + 2 * plan.labels * width)
    stage1 = plan.batch_size * plan.ranked * (SCORE_COPIES * plan.tokens + 2 * width) * FLOAT
    stage2 = plan.batch_size * chosen * SELECTED_COPIES * width * FLOAT
    parts = {"label attention": common + max(stage1, stage2)}
    if plan.dense_relevance and (plan.prior or plan.ranked):
        rows = plan.labels + plan.batch_size * chosen * (plan.prior and chosen < plan.labels)
        parts["relevance, at most"] = FLOAT * rows * min(vocabulary, positions)
    return parts


def plan_of(values: Mapping[str, Any], blocks: Mapping[str, Any], tokens: int, labels: int, *, on_gpu: bool) -> Plan:
    """The plan of a configuration.

    Args:
        values: Its top-level keys.
        blocks: ``stage1`` and ``stage2``.
        tokens: T.
        labels: L.
        on_gpu: Whether it is for a GPU, where ``precision: auto`` is narrow.
    """
    network, stage1, stage2 = values["network_config"], blocks["stage1"], blocks["stage2"]
    wide = values["precision"] == "32" or (values["precision"] == "auto" and not on_gpu)
    wanted = {"all": labels, "positive": 0}.get(str(stage1.labels), stage1.labels)
    sizes = [stage.batch_size or values["batch_size"] for stage in (stage1, stage2)]
    ranks = values["strategy"] == "plant" and stage1.method == "gradient"  # the closed form has no gradient to keep
    lora = network.get("lora")
    known = {field.name for field in dataclasses.fields(Plan)} & network.keys()
    taken = {name: network[name] for name in known if name != "lora"}
    return Plan(
        batch_size=max(sizes if ranks else sizes[1:]),
        tokens=tokens,
        labels=labels,
        ranked=min(int(wanted), labels) if ranks else 0,
        chosen=labels if stage2.hard_negatives is None else stage2.hard_negatives,
        lora=None if lora is None else LoraOptions(**lora),
        frozen=bool(network.get("lm_frozen")),
        narrow=FLOAT if wide else 2,
        stored=2 if on_gpu else FLOAT,
        noise=1 if on_gpu else FLOAT,
        prior=network.get("planted_prior", "none") != "none",
        dense_relevance=on_gpu,
        **taken,
    )
