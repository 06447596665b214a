"""The memory formula beside what the backward pass really keeps."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from scipy import sparse
from torch import nn

from plant_plugin.config.network import PLANT as Arguments
from plant_plugin.config.options import LoraOptions, ShortlistOptions, Stage1Options, Stage2Options
from plant_plugin.config.sections import Settings
from plant_plugin.errors import ConfigError
from plant_plugin.networks.backbone import HuggingFaceBackbone
from plant_plugin.networks.footprint import (
    STEP,
    STORED,
    NoFormula,
    Plan,
    footprint,
    graph_bytes,
    plan_of,
    words_footprint,
)
from plant_plugin.networks.kernels.prior import PlantedRelevance
from plant_plugin.networks.plant import PLANT
from plant_plugin.networks.trained_state import trained_state

pytest.importorskip("peft", reason="needs the extra llm")
pytest.importorskip("bitsandbytes", reason="needs the extra llm")

LAYERS, WIDTH, BATCH, TOKENS = 4, 64, 2, 64


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    from transformers import AutoConfig, AutoModel

    found = {}
    for family in ("mistral", "phi3", "bert"):
        own = {"attention_probs_dropout_prob": 0.0} if family == "bert" else {"num_key_value_heads": 2}
        own |= {"num_key_value_heads": 4} if family == "phi3" else {}
        config = AutoConfig.for_model(
            family, vocab_size=50, hidden_size=WIDTH, intermediate_size=176, num_hidden_layers=LAYERS,
            num_attention_heads=4, max_position_embeddings=TOKENS, bos_token_id=1, eos_token_id=2, pad_token_id=0,
            **own,
        )  # fmt: skip
        found[family] = str(tmp_path_factory.mktemp(family))
        AutoModel.from_config(config).save_pretrained(found[family])
    return found


def kept_bytes(backbone: nn.Module) -> int:
    """Bytes of everything that autograd keeps of a forward pass, the weights left out; each piece of memory once."""
    own = {tensor.untyped_storage().data_ptr() for tensor in (*backbone.parameters(), *backbone.buffers())}
    found: dict[int, int] = {}

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        memory = tensor.untyped_storage()
        if memory.data_ptr() not in own and tensor.dtype != torch.uint8:  # the workspace of oneDNN's LSTM
            found[memory.data_ptr()] = memory.nbytes()
        return tensor

    text = torch.randint(3, 50, (BATCH, TOKENS))
    mask = torch.ones_like(text, dtype=torch.bool)
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        states = backbone.train()(text, mask.sum(dim=1), mask)
    assert states.requires_grad
    for node in nodes_of(states):  # bitsandbytes hides the inputs of its 8-bit layers from the hooks
        keep(getattr(node, "A", torch.empty(0)))
    return sum(found.values())


def nodes_of(tensor: torch.Tensor) -> set[Any]:
    """All nodes of the graph that made a tensor."""
    found: set[Any] = set()
    ahead = [tensor.grad_fn]
    while ahead:
        node = ahead.pop()
        if node is not None and node not in found:
            found.add(node)
            ahead.extend(following for following, _ in node.next_functions)
    return found


def plan(ranked: int = 0, chosen: int = 1000, dense_relevance: bool = False, **network: Any) -> Plan:
    arguments = Arguments(**{"num_heads": 2, "pool_size": 8, "hidden_size": WIDTH, **network})
    return Plan(BATCH, TOKENS, 30, arguments, ranked, chosen, 4, 4, 4, dense_relevance)


@pytest.mark.parametrize(
    "options",
    [{}, {"lora": {}}, {"lora": {"dropout": 0.0, "r": 8}}, {"quantization": "nf4", "lora": {}},
     {"quantization": "int8", "lora": {}}],
)  # fmt: skip
@pytest.mark.parametrize("family", ["mistral", "phi3", "bert"])
def test_activations_are_what_autograd_keeps(folders: dict[str, str], family: str, options: dict[str, Any]) -> None:
    backbone = HuggingFaceBackbone(folders[family], **options)
    expected = footprint(backbone.config, plan(**options)).bytes["activations"]
    assert expected == pytest.approx(kept_bytes(backbone), rel=0.2)


@pytest.mark.parametrize(
    "options", [{}, {"lora": {"r": 4}}, {"quantization": "nf4", "lora": {}}, {"quantization": "int8"}]
)
def test_parameters_and_checkpoint_are_counted(folders: dict[str, str], options: dict[str, Any]) -> None:
    network = PLANT(30, lm_weight=folders["phi3"], num_heads=2, pool_size=8, planted_prior="additive", **options)
    found = footprint(network.backbone.config, plan(planted_prior="additive", **options))
    assert found.trained == sum(weight.numel() for weight in network.parameters() if weight.requires_grad)
    assert found.checkpoint == sum(4 * tensor.numel() for tensor in trained_state(network).values())
    held = sum(weight.numel() * weight.element_size() for weight in HuggingFaceBackbone(folders["phi3"],
               quantization=options.get("quantization", "none")).parameters())  # fmt: skip
    scales = {"nf4": STORED["nf4"] / 0.5, "int8": 1.0, "none": 1.0}[options.get("quantization", "none")]
    assert found.bytes["weights of the language model"] == pytest.approx(held * scales, rel=0.05)


@pytest.mark.parametrize("family", ["gpt2", "albert"])
def test_layers_of_another_kind_have_no_formula(family: str) -> None:
    from transformers import AutoConfig

    with pytest.raises(NoFormula, match=f"the kind '{family}' is not worked out"):
        footprint(AutoConfig.for_model(family), plan())


def test_checkpoints_leave_the_inputs_and_one_layer(folders: dict[str, str]) -> None:
    config = HuggingFaceBackbone(folders["mistral"]).config
    whole = footprint(config, plan(lora={})).bytes["activations"]
    parts = footprint(config, plan(lora={}, gradient_checkpointing=True)).bytes
    assert parts["inputs of the layers"] == LAYERS * BATCH * TOKENS * WIDTH * 4
    assert parts["one layer's activations"] * LAYERS == whole


def test_a_7b_run_of_the_paper() -> None:
    from transformers import AutoConfig

    from plant_plugin.config import registry

    config = AutoConfig.for_model(**registry.get("backbones", "mistral-7b").shape)
    found = footprint(config, Plan(8, 4096, 8929, Arguments(quantization="nf4", lora={}, gradient_checkpointing=True)))
    assert found.parameters == pytest.approx(7.11e9, rel=0.01)
    adapters = 32 * 16 * ((4096 + 4096) * 2 + (4096 + 1024) * 2)
    head = 3 * 8929 * 4096 + 4 * (4096 * 4096 + 4096) + 128
    assert found.trained == adapters + head
    assert found.checkpoint < 2e9
    assert 3.5e9 < found.bytes["weights of the language model"] < 4.5e9


WORDS = [
    {"encoder": "cnn", "filter_sizes": (3, 5)},
    {"encoder": "cnn", "embed_dropout": 0.0, "post_encoder_dropout": 0.0},
    {"encoder": "bigru"},
    {"encoder": "bigru", "num_layers": 2, "encoder_dropout": 0.2},
    {"encoder": "bilstm"},
    {"encoder": "bilstm", "num_layers": 2, "hidden_size": 128},
]


@pytest.mark.parametrize("options", WORDS)
def test_word_encoders_keep_what_autograd_keeps(options: dict[str, Any]) -> None:
    network_config = {"hidden_size": WIDTH, "pool_size": 8, "num_heads": 2, **options}
    network = PLANT(30, torch.zeros(50, 20), **network_config)
    made = plan(**network_config)
    found = words_footprint(made, 50, 20)
    assert found.trained == sum(weight.numel() for weight in network.parameters())
    assert found.parameters == sum(weight.numel() for weight in network.backbone.parameters())
    assert found.checkpoint == sum(4 * tensor.numel() for tensor in trained_state(network).values())
    expected = found.bytes["activations"] - graph_bytes(made)
    if made.network.encoder == "bilstm":  # no hook can tell how much of its workspace is in use: see benchmarks/speed
        expected -= int(BATCH * TOKENS * 4 * STEP["bilstm"] * made.network.hidden_size * made.network.num_layers)
    assert expected == pytest.approx(kept_bytes(network.backbone), rel=0.1)


def test_a_head_that_does_not_fit_is_told_by_its_key(folders: dict[str, str]) -> None:
    unfit = {"num_heads": 3}
    with pytest.raises(ConfigError, match="network_config: num_heads"):
        words_footprint(plan(encoder="cnn", **unfit), 50, 20)
    with pytest.raises(ConfigError, match="network_config: num_heads"):
        footprint(HuggingFaceBackbone(folders["bert"]).config, plan(**unfit))


def test_the_relevance_of_a_batch_is_a_table_of_its_distinct_tokens() -> None:
    prior, ranked = {"planted_prior": "additive"}, {"ranked": 1}
    expected = [({}, None), (prior, 4 * (30 + BATCH * 5) * BATCH * TOKENS), (ranked, 4 * 30 * BATCH * TOKENS)]
    for changes, size in expected:
        made = plan(chosen=5, dense_relevance=True, encoder="cnn", **changes)
        assert words_footprint(made, 1000, 20).bytes.get("relevance, at most") == size
    assert "relevance, at most" not in words_footprint(plan(encoder="cnn", **prior), 1000, 20).bytes
    table = PlantedRelevance(sparse.random_array((30, 1000), density=0.5, format="csr", dtype="float32"))
    looked_up = table.lookup(torch.arange(3, 3 + BATCH * TOKENS).reshape(BATCH, TOKENS))
    assert 4 * looked_up.dense().numel() == 4 * 30 * BATCH * TOKENS


def test_gradient_tokens_bound_what_the_encoder_keeps(folders: dict[str, str]) -> None:
    config = HuggingFaceBackbone(folders["bert"]).config
    whole, few, short = (
        footprint(config, plan(gradient_tokens=n, lm_window=window)).bytes
        for n, window in ((None, 16), (16, 16), (16, TOKENS))
    )
    assert few["activations"] * 2 == whole["activations"]  # the last 16 of 64 are in two windows of 16 at most
    assert few["label attention"] == whole["label attention"]
    assert short == whole


def test_the_plan_of_a_configuration() -> None:
    network = {"lora": {"r": 4}, "quantization": "nf4", "num_heads": 2, "lm_weight": "x", "planted_prior": "additive"}
    settings = Settings(
        strategy="plant", batch_size=8, network_config=network,
        stage1=Stage1Options(labels="all", batch_size=4), stage2=Stage2Options(hard_negatives=None),
    )  # fmt: skip
    found = plan_of(settings, 100, 30, on_gpu=True)
    assert (found.batch_size, found.tokens, found.labels, found.ranked, found.chosen) == (8, 100, 30, 30, 30)
    assert found.network == Arguments(**network)
    assert found.network.adapters == LoraOptions(r=4)
    assert (found.narrow, found.stored, found.noise, found.dense_relevance) == (2, 2, 1, True)
    alone = plan_of(replace(settings, strategy="end_to_end"), 100, 30, on_gpu=False)
    assert (alone.ranked, alone.narrow, alone.stored, alone.dense_relevance) == (0, 4, 4, False)


def test_a_shortlist_bounds_what_the_label_attention_needs() -> None:
    options = {"batch_size": 8, "network_config": {"encoder": "cnn"}, "stage2": Stage2Options(hard_negatives=None)}
    settings = Settings(strategy="end_to_end", **options)
    listed = replace(settings, shortlist=ShortlistOptions(size=10))
    of_all, of_few, of_auto = (
        words_footprint(plan_of(one, 100, 90_000, on_gpu=False), 50, 20)
        for one in (settings, listed, replace(settings, shortlist=ShortlistOptions(size="auto")))
    )
    width = Arguments(encoder="cnn").hidden_size
    states, projected, selected = 5 * 8 * 100 * width, 2 * 8 * 10 * width, 4 * 8 * 10 * width
    assert of_few.bytes["label attention"] == 4 * (states + projected + selected)
    assert of_few.bytes["label attention"] < of_auto.bytes["label attention"] < of_all.bytes["label attention"]
    assert of_all.flops[1] - of_few.flops[1] == 3 * 4 * width * (90_000 - 10)
    assert of_few.trained == of_all.trained  # every label still has its own row
    assert plan_of(replace(listed, strategy="plant"), 100, 90_000, on_gpu=False).ranked == 10


def test_arithmetic_by_hand() -> None:
    from transformers import LlamaConfig

    config = LlamaConfig(vocab_size=10, hidden_size=4, intermediate_size=6, num_hidden_layers=1, num_attention_heads=2,
                         num_key_value_heads=1)  # fmt: skip
    weights = 4 * 4 * 2 + 4 * 2 * 2 + 3 * 4 * 6
    one = {"num_heads": 1, "pool_size": 1}
    trained = footprint(config, Plan(1, 1, 0, Arguments(**one)))
    adapted = footprint(config, Plan(1, 1, 0, Arguments(**one, lora={}, gradient_checkpointing=True)))
    assert trained.flops == adapted.flops == (0, 6 * weights)
    # of 8 labels 2 get a gradient; with 5 of them all have one; stage 1 has the scores of 3
    selected, everything = (footprint(config, Plan(1, 1, 8, Arguments(**one), 3, chosen)).flops for chosen in (2, 5))
    assert selected == (6 * weights + 3 * 2 * 4 * 3, 6 * weights + 4 * 4 * (8 + 3 * 2))
    assert everything == (selected[0], 6 * weights + 3 * 4 * 4 * 8)
    assert trained.parameters == weights + 10 * 4 + 3 * 4
