"""What training PLANT needs: parameters, memory and arithmetic, from shapes alone.

Shape key: **B** documents · **T** token positions · **L** labels · **H** hidden width · **A** heads · **M** chosen
labels of a document · **V** words · **D** width of their embeddings · **u** = H/2, units of one direction.

A language model is made without memory (PyTorch's ``meta`` device), so parameters are counted, not estimated.
Activations are what one layer's backward pass keeps, added up from its linear layers; tests count the kept tensors
beside it. Attention is taken to be computed without its T × T weights (sdpa, flash attention).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import nn

from plant_plugin.config.network import PLANT
from plant_plugin.config.options import SHORTLIST_SIZES
from plant_plugin.config.sections import Settings
from plant_plugin.errors import PlantError
from plant_plugin.networks.backbone.loading import attention_projections
from plant_plugin.networks.label_attention_head import LabelAttentionHead
from plant_plugin.networks.losses import WORTH_SELECTING
from plant_plugin.networks.plant import PLANT as Network

if TYPE_CHECKING:
    from transformers import PretrainedConfig

FLOAT = 4
STORED = {"nf4": 0.5 + 1 / 64 + 4 / (64 * 256), "int8": 1.0}  # bytes of a weight; nf4: 8-bit scales of 64, and theirs
TRAINING = 3 * FLOAT  # gradient and two moments of Adam, for every parameter that trains
STATE_COPIES = 5  # states, keys, values, and the gradients of the last two (B, T, H)
SELECTED_COPIES = 4  # queries and outputs (B, M, H) of the chosen labels, and their gradients
SCORE_COPIES = 4  # scores (B, M, T) of stage 1, relevance, gradient and room to work
# Numbers, in units of u, that one direction of a layer keeps for each token besides its input and its outputs. GRU: of
# torch's own loop over steps. LSTM: gates and cells in oneDNN's workspace; the rest of it, twice as much, is written
# only in the backward pass, when what the label attention kept is gone. Both on a CPU; cuDNN's are not known here.
STEP = {"bigru": 7.0, "bilstm": 5.0}
GRU_NODES = 13_000  # bytes of graph for each step and direction, however wide: measured with torch 2.13
INPUT_COPIES = 3  # the input as it came, and turned over for each direction


@dataclass(frozen=True)
class Plan:
    """What is to be trained."""

    batch_size: int  # B
    tokens: int  # T, of the longest document of a batch
    labels: int  # L
    network: PLANT  # its arguments
    ranked: int = 0  # labels of a document whose attention stage 1 trains by gradient; 0: none
    chosen: int = 1000  # labels of a document that get a gradient in stage 2
    narrow: int = 2  # bytes of an activation: 2 under autocast, else 4
    stored: int = 2  # bytes of a weight that neither trains nor is quantised
    noise: int = 1  # bytes of a dropout's mask: 1 on a GPU, 4 on a CPU
    dense_relevance: bool = False  # whether the relevance of a batch is a dense table, as on a GPU
    shortlist: int | None = None  # labels of a document that the network scores; None: all

    @property
    def scored(self) -> int:
        """Labels of a document that the network scores."""
        return min(self.labels, self.shortlist or self.labels)

    def trained_tokens(self, window: int) -> int:
        """Tokens of the longest document that have a gradient in the language model, in whole windows."""
        if self.network.gradient_tokens is None or self.tokens <= window:
            return self.tokens
        return min(self.tokens, self.network.gradient_tokens + window)


@dataclass(frozen=True)
class Footprint:
    """The answer."""

    parameters: int  # of the encoder with its word embeddings, or of the language model without its own head, adapters
    trained: int  # parameters that train, the head's included
    bytes: dict[str, int]  # part -> bytes; their sum is the expected peak
    checkpoint: int  # bytes of `model.safetensors`
    flops: tuple[float, float]  # arithmetic of one token in a training step of stage 1 and of stage 2; 0: no such step

    @property
    def total(self) -> int:
        """Bytes at the peak, without what the process and the device's own libraries take."""
        return sum(self.bytes.values())


class NoFormula(PlantError):
    """The layers of a language model are of another kind than those that the memory is worked out for."""


def footprint(config: PretrainedConfig, plan: Plan) -> Footprint:
    """Parameters, memory and arithmetic of PLANT over a language model of that configuration.

    Raises:
        NoFormula: A layer has no linear layers in its attention, or none outside, or all layers are one.
    """
    from transformers import AutoModel

    with torch.device("meta"):
        model, own, width = AutoModel.from_config(config), plan.network, config.get_text_config().hidden_size
        head = LabelAttentionHead(width, plan.labels, own.num_heads, own.pool_size, own.strength)
    lora, quantization = own.adapters, own.quantization
    frozen = own.lm_frozen or lora is not None or quantization != "none"
    linear = {id(module.weight) for module in model.modules() if isinstance(module, nn.Linear)}
    in_linear = sum(weight.numel() for weight in model.parameters() if id(weight) in linear)
    everything = _count(model)
    projections = _projections(model)
    adapters = 0 if lora is None else sum(lora.r * (p.in_features + p.out_features) for p in projections)
    of_head = _count(head)
    trained = of_head + adapters + (0 if frozen else everything)
    if quantization in STORED:
        weights = int(in_linear * STORED[quantization] + (everything - in_linear) * plan.stored)
    else:
        weights = everything * (plan.stored if frozen else FLOAT)
    try:
        activations = _activations(model, config, plan, frozen)
    except (ValueError, StopIteration) as error:  # nothing of a kind was found
        what = f"the memory of a language model of the kind {config.model_type!r} is not worked out"
        fix = "try it: --limit_train_batches 2 --limit_val_batches 2 --limit_test_batches 2; result.json tells its peak"
        raise NoFormula(what, where="network_config: lm_weight", fix=fix) from error
    parts = {
        "weights of the language model": weights,
        "adapters and head": (adapters + of_head) * FLOAT,
        "gradients and Adam": trained * TRAINING,
        **activations,
        **_label_attention(width, plan, len(model.get_input_embeddings().weight)),
    }
    # 2 operations a weight forward, 2 for the states' gradient, 2 for the weights' where they train, 2 to compute anew
    passes = 2 + (not frozen) + own.gradient_checkpointing
    return Footprint(everything, trained, parts, trained * FLOAT, _flops(2.0 * in_linear * passes, width, plan))


def _activations(model: nn.Module, config: PretrainedConfig, plan: Plan, frozen: bool) -> dict[str, int]:
    text = config.get_text_config()
    layers, width = text.num_hidden_layers, text.hidden_size
    blocks = next(m for m in model.modules() if isinstance(m, nn.ModuleList) and len(m) == layers)
    window = plan.network.lm_window or getattr(text, "max_position_embeddings", None) or plan.tokens
    positions = plan.batch_size * plan.trained_tokens(window)
    of_layer = _layer_bytes(blocks[0], text, plan, frozen)
    inner, gated = _feed_forward(blocks[0], width)
    room = positions * ((3 if gated else 2) * inner + 2 * width) * plan.narrow  # the widest gradients of one layer
    if not plan.network.gradient_checkpointing:
        return {"activations": positions * layers * of_layer, "gradients of activations": room}
    inputs = {"inputs of the layers": positions * layers * width * plan.narrow}
    return {**inputs, "one layer's activations": positions * of_layer, "gradients of activations": room}


def _projections(model: nn.Module) -> list[nn.Linear]:
    named = set(attention_projections(model))
    return [m for name, m in model.named_modules() if isinstance(m, nn.Linear) and name in named]


def _feed_forward(layer: nn.Module, width: int) -> tuple[int, bool]:
    """Width of a layer's feed-forward part, and whether one half of it gates the other."""
    inside = set(attention_projections(layer))
    others = [m for name, m in layer.named_modules() if isinstance(m, nn.Linear) and name not in inside]
    inner = max(module.in_features for module in others)
    return inner, sum(module.out_features for module in others if module.out_features != width) == 2 * inner


def _layer_bytes(layer: nn.Module, text: PretrainedConfig, plan: Plan, frozen: bool) -> int:
    """Bytes that the backward pass of one layer, whose own weights may be ``frozen``, keeps for each token."""
    width, narrow, lora = text.hidden_size, plan.narrow, plan.network.adapters
    attention = _projections(layer)
    inner, gated = _feed_forward(layer, width)
    root_mean_square = getattr(text, "rms_norm_eps", None) is not None
    kept = 2 * width * FLOAT  # what the two norms read, in float32
    # bitsandbytes keeps the inputs of its 8-bit layers, although their weights do not train
    reads_inputs = not frozen or plan.network.quantization == "int8"
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
    if lora is not None:
        distinct = {module.in_features: module for module in attention}.values()
        read = attention if lora.dropout else distinct
        mask = plan.noise if lora.dropout else 0
        kept += sum(module.in_features * (narrow + mask) for module in read) + len(attention) * lora.r * narrow
    kept += inner * narrow * ((3 if gated else 1) + reads_inputs)
    if getattr(text, "hidden_dropout_prob", 0.0):
        kept += 2 * width * plan.noise
    return kept


def words_footprint(plan: Plan, vocabulary: int, embed_dim: int) -> Footprint:
    """Parameters, memory and arithmetic of PLANT over a word-level encoder, all of which trains; V words of width D."""
    with torch.device("meta"):
        network = Network(plan.labels, torch.empty(vocabulary, embed_dim), **vars(plan.network))
    trained, of_backbone, width = _count(network), _count(network.backbone), plan.network.hidden_size
    positions = plan.batch_size * plan.tokens
    widest = max(_inputs(plan.network, embed_dim))
    parts = {
        "weights": trained * FLOAT,
        "gradients and Adam": trained * TRAINING,
        "activations": int(positions * _bytes_of_token(plan, embed_dim)) + graph_bytes(plan),
        "gradients of activations": positions * 2 * (width + widest) * plan.narrow,
        **_label_attention(width, plan, vocabulary),
    }
    flops = _flops(3 * 2.0 * (of_backbone - vocabulary * embed_dim), width, plan)
    return Footprint(of_backbone, trained, parts, trained * FLOAT, flops)


def _count(module: nn.Module) -> int:
    return sum(weight.numel() for weight in module.parameters())


def _flops(encoder: float, width: int, plan: Plan) -> tuple[float, float]:
    """Operations of both stages for each token, with those of the encoder.

    Of a label and a token 2·H for the score and as many for what the attention gathers, thrice where there is a
    gradient; stage 1 has scores of chosen labels alone.
    """
    scored = plan.scored
    labels = scored + 3 * plan.chosen if plan.chosen <= WORTH_SELECTING * scored else 3 * scored
    return (encoder + 3 * 2.0 * width * plan.ranked) * (plan.ranked > 0), encoder + 4.0 * width * labels


def _inputs(words: PLANT, embed_dim: int) -> list[int]:
    """Width of the input of each layer."""
    return [embed_dim, *(words.hidden_size for _ in range(words.num_layers - 1))]


def _bytes_of_token(plan: Plan, embed_dim: int) -> float:
    """Bytes that the backward pass keeps of embeddings and encoder for each token."""
    words, width, units = plan.network, plan.network.hidden_size, plan.network.hidden_size / 2
    masks = embed_dim * bool(words.embed_dropout) + width * bool(words.post_encoder_dropout)
    if words.encoder == "cnn":  # each filter width's padded input, and what the activation made
        return plan.noise * masks + plan.narrow * (len(words.filter_sizes) * embed_dim + width)
    masks += width * bool(words.encoder_dropout) * (words.num_layers - 1)
    step = 2 * STEP[str(words.encoder)] * units
    kept = sum(INPUT_COPIES * of_input + width + step for of_input in _inputs(words, embed_dim))
    return plan.noise * masks + plan.narrow * kept


def graph_bytes(plan: Plan) -> int:
    """Bytes of the graph itself where each step over the longest document is a few nodes of its own."""
    words = plan.network
    return 2 * words.num_layers * plan.tokens * GRU_NODES if words.encoder == "bigru" else 0


def _label_attention(width: int, plan: Plan, vocabulary: int) -> dict[str, int]:
    """Bytes of the hungrier stage: queries, keys, values and outputs, what chosen labels bring, and their relevance.

    On a GPU relevance is looked up as a table of all labels for the distinct tokens of a batch, with its rows for the
    chosen labels of each document. These tokens are taken to be as many as they can be: real texts repeat their words,
    so this part is an upper bound. On a processor only what is not zero is looked up; that is left out.
    """
    positions, chosen = plan.batch_size * plan.tokens, min(plan.chosen, plan.scored)
    if plan.shortlist and plan.chosen > WORTH_SELECTING * plan.scored:  # all of the shortlist have a gradient
        chosen = plan.scored
    projected = min(plan.labels, plan.batch_size * plan.scored) if plan.shortlist else plan.labels
    common = FLOAT * (STATE_COPIES * positions * width + 2 * projected * width)
    stage1 = plan.batch_size * plan.ranked * (SCORE_COPIES * plan.tokens + 2 * width) * FLOAT
    stage2 = plan.batch_size * chosen * SELECTED_COPIES * width * FLOAT
    parts = {"label attention": common + max(stage1, stage2)}
    prior = plan.network.strength is not None
    if plan.dense_relevance and (prior or plan.ranked):
        rows = plan.labels + plan.batch_size * chosen * (prior and chosen < plan.labels)
        parts["relevance, at most"] = FLOAT * rows * min(vocabulary, positions)
    return parts


def plan_of(config: Settings, tokens: int, labels: int, *, on_gpu: bool) -> Plan:
    """The plan of a configuration, for T tokens and L labels; ``precision: auto`` is narrow on a GPU."""
    stage1, stage2 = config.stage1, config.stage2
    wide = config.precision == "32" or (config.precision == "auto" and not on_gpu)
    wanted = {"all": labels, "positive": 0}.get(str(stage1.labels), stage1.labels)
    asked = config.shortlist.size
    size = max(SHORTLIST_SIZES) if isinstance(asked, str) else asked  # `auto` takes no more
    sizes = [stage.batch_size or config.batch_size for stage in (stage1, stage2)]
    ranks = config.strategy == "plant"
    return Plan(
        batch_size=max(sizes if ranks else sizes[1:]),
        tokens=tokens,
        labels=labels,
        network=PLANT(**config.network_config),
        ranked=min(int(wanted), labels, size or labels) if ranks else 0,
        chosen=labels if stage2.hard_negatives is None else stage2.hard_negatives,
        narrow=FLOAT if wide else 2,
        stored=2 if on_gpu else FLOAT,
        noise=1 if on_gpu else FLOAT,
        dense_relevance=on_gpu,
        shortlist=size,
    )
