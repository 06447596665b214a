"""Quantised language models with adapters, on tiny random ones: what trains, what is saved, what comes back."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from tiny_language_models import FAMILIES, WORDS, write_language_model
from torch import Tensor, nn

from plant_plugin.config import registry
from plant_plugin.errors import ConfigError, MissingExtraError
from plant_plugin.networks.backbone import HuggingFaceBackbone, loading
from plant_plugin.networks.backbone.gguf import language_model
from plant_plugin.networks.backbone.loading import attention_projections
from plant_plugin.networks.backbone.windows import cut_into_windows
from plant_plugin.networks.options import LoraOptions
from plant_plugin.networks.plant import PLANT
from plant_plugin.networks.trained_state import load_trained_state, trained_state

pytest.importorskip("peft", reason="needs the extra llm")
pytest.importorskip("bitsandbytes", reason="needs the extra llm")

LORA = LoraOptions(r=4, alpha=8, dropout=0.05)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    base = tmp_path_factory.mktemp("language_models")
    return {family: write_language_model(family, base / family) for family in FAMILIES}


def network(lm_weight: str, seed: int = 1, **options: Any) -> PLANT:
    torch.manual_seed(seed)
    return PLANT(5, lm_weight=lm_weight, num_heads=2, pool_size=4, **options)


def batch() -> dict[str, Tensor]:
    length = torch.tensor([20, 7])
    text = torch.randint(3, WORDS, (2, 20), generator=torch.Generator().manual_seed(0))
    return {"text": text, "length": length, "mask": torch.arange(20) < length[:, None]}


@pytest.mark.parametrize(
    ("family", "quantization"), [*((family, "nf4") for family in FAMILIES), ("mistral", "int8"), ("phi3", "none")]
)
def test_adapters_train_are_saved_alone_and_give_the_same_logits(
    folders: dict[str, str], family: str, quantization: str
) -> None:
    options = {"quantization": quantization, "lora": LORA, "gradient_checkpointing": True}
    plant = network(folders[family], **options).train()
    optimizer = torch.optim.AdamW([weight for weight in plant.parameters() if weight.requires_grad], lr=1e-2)
    for _ in range(2):  # B starts at zero: A has a gradient from the second step on
        optimizer.zero_grad()
        plant(batch())["logits"].square().sum().backward()
        optimizer.step()
    silent = [name for name, weight in plant.named_parameters() if weight.requires_grad and not weight.grad.any()]
    assert not silent
    state = trained_state(plant)
    adapters = {name for name in state if name.startswith("backbone.")}
    assert len(adapters) == 2 * (8 if family != "phi3" else 4)  # A and B of q, k, v, o of two layers; qkv is one
    assert all("lora_" in name for name in adapters)
    assert {name for name in state if not name.startswith("backbone.")} == {
        f"head.{name}" for name in plant.head.state_dict()
    }
    before = plant.eval()(batch())["logits"]
    fresh = network(folders[family], seed=2, **options).eval()
    assert not torch.allclose(fresh(batch())["logits"], before)
    load_trained_state(fresh, {name: tensor.clone() for name, tensor in state.items()})
    torch.testing.assert_close(fresh(batch())["logits"], before, rtol=0, atol=0)


@pytest.mark.parametrize("family", FAMILIES)
def test_four_bits_are_near_the_weights_and_padding_changes_nothing(folders: dict[str, str], family: str) -> None:
    wide, narrow = (network(folders[family], quantization=kind).eval() for kind in ("none", "nf4"))
    there, here = wide.encode(batch()), narrow.encode(batch())
    assert here.states.dtype == torch.float32
    error = (here.states - there.states)[here.mask].norm() / there.states[here.mask].norm()
    assert 0 < error < 0.5  # random weights have no structure that 4 bits could keep better
    alone = {name: value[1:, :7] if value.ndim == 2 else value[1:] for name, value in batch().items()}
    torch.testing.assert_close(narrow(alone)["logits"], narrow(batch())["logits"][1:])
    other = batch()
    other["text"][1, 7:] = 2  # padding without a token of its own
    torch.testing.assert_close(narrow(other)["logits"], narrow(batch())["logits"])


def test_four_bits_are_nf4_with_quantised_scales(folders: dict[str, str]) -> None:
    import bitsandbytes

    backbone = HuggingFaceBackbone(folders["phi3"], quantization="nf4")
    linears = [module for module in backbone.modules() if isinstance(module, nn.Linear)]
    assert linears
    for linear in linears:
        assert isinstance(linear, bitsandbytes.nn.Linear4bit)
        assert linear.weight.quant_type == "nf4"
        assert linear.weight.quant_state.nested
    assert not any(weight.requires_grad for weight in backbone.parameters())


def test_projections_are_found_in_every_family() -> None:
    from transformers import AutoConfig, AutoModel

    small = {"vocab_size": 8, "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "n_layer": 1,
             "n_embd": 8, "n_head": 2, "intermediate_size": 8, "max_position_embeddings": 8, "pad_token_id": 0,
             "eos_token_id": 1, "bos_token_id": 1, "cls_token_id": 1, "sep_token_id": 1, "attention_window": 2,
             "num_key_value_heads": 2}  # fmt: skip
    found = {}
    for family in ("mistral", "qwen2", "phi3", "bert", "roberta", "modernbert", "longformer", "gpt2"):
        with torch.device("meta"):
            model = AutoModel.from_config(AutoConfig.for_model(family, **small))
        found[family] = sorted({name.rpartition(".")[2] for name in attention_projections(model)})
    separate = ["k_proj", "o_proj", "q_proj", "v_proj"]
    bert = ["dense", "key", "query", "value"]
    assert found == {
        "mistral": separate, "qwen2": separate, "phi3": ["o_proj", "qkv_proj"], "bert": bert, "roberta": bert,
        "modernbert": ["Wo", "Wqkv"], "gpt2": ["c_attn", "c_proj"],
        "longformer": ["dense", "key", "key_global", "query", "query_global", "value", "value_global"],
    }  # fmt: skip


def test_a_frozen_model_and_one_that_trains(folders: dict[str, str]) -> None:
    frozen, trained = network(folders["bert"], lm_frozen=True), network(folders["bert"])
    assert not any(name.startswith("backbone.") for name in trained_state(frozen))
    assert trained_state(trained).keys() == trained.state_dict().keys()
    assert all(weight.dtype == torch.float32 for weight in trained.parameters())
    with pytest.raises(RuntimeError, match="are missing"):
        load_trained_state(trained, trained_state(frozen))


def test_the_fingerprint_is_of_the_weights(folders: dict[str, str], tmp_path: Path) -> None:
    prints = {kind: HuggingFaceBackbone(folders["llama"], quantization=kind).fingerprint for kind in ("nf4", "int8")}
    assert prints["nf4"] == prints["int8"] == HuggingFaceBackbone(folders["llama"], frozen=True).fingerprint
    other = write_language_model("llama", tmp_path / "other", seed=3)
    assert HuggingFaceBackbone(other, frozen=True).fingerprint != prints["nf4"]
    assert HuggingFaceBackbone(other).fingerprint is None  # it trains: the checkpoint holds it


def literal_owner(length: int, window: int, overlap: int, causal: bool) -> list[tuple[int, int]]:
    """(start of the window, place in it) of each position, by looking at all windows that hold it."""
    starts = [0]
    while starts[-1] + window < length:
        starts.append(starts[-1] + window - overlap)
    found = []
    for position in range(length):
        holding = [start for start in starts if start <= position < start + window]
        if causal:
            best = holding[0]
        else:  # the farther from the edge that is shared, the better; of two as good, the later
            best = max(holding, key=lambda start: (min(position - start if start else window,
                       start + window - 1 - position if start != starts[-1] else window), start))  # fmt: skip
        found.append((best, position - best))
    return found


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("window", "overlap"), [(8, 0), (8, 2), (8, 4), (5, 4), (1, 0)])
def test_windows_are_those_of_the_literal_version(window: int, overlap: int, causal: bool) -> None:
    lengths = torch.tensor([30, 1, 8, 9, 17])
    mask = torch.arange(30) < lengths[:, None]
    windows = cut_into_windows(mask, window, overlap, causal=causal)
    text = torch.arange(5 * 30).view(5, 30)
    cut, inside = windows.of(text), windows.of(mask)
    for document, length in enumerate(lengths.tolist()):
        expected = literal_owner(length, window, overlap, causal)
        rows, columns = windows.row[document, :length], windows.column[document, :length]
        assert windows.document[rows].tolist() == [document] * length
        assert (windows.position[rows, 0]).tolist() == [start for start, _ in expected]
        assert columns.tolist() == [place for _, place in expected]
        torch.testing.assert_close(cut[rows, columns], text[document, :length])
        assert inside[rows, columns].all()
    needed = [1 if length <= window else 1 + -(-(length - window) // (window - overlap)) for length in lengths.tolist()]
    assert torch.bincount(windows.document).tolist() == needed


@pytest.mark.parametrize("family", ["mistral", "bert"])
def test_documents_beyond_the_context_go_in_overlapping_windows(folders: dict[str, str], family: str) -> None:
    plant = network(folders[family]).eval()
    assert (plant.backbone.window, plant.backbone.overlap) == (64, 8)
    assert plant.backbone.causal == (family == "mistral")
    text = torch.randint(3, WORDS, (2, 150), generator=torch.Generator().manual_seed(0))
    length = torch.tensor([150, 60])
    states = plant.encode({"text": text, "length": length}).states
    assert states.shape == (2, 150, 32)
    second = plant.encode({"text": text[:1, 56:120], "length": torch.tensor([64])}).states[0]
    # a decoder's overlap belongs to the window before it
    edge, end = (64, 120) if family == "mistral" else (60, 116)
    torch.testing.assert_close(states[0, edge:end], second[edge - 56 : end - 56])
    torch.testing.assert_close(states[1, :60], plant.encode({"text": text[1:, :60], "length": length[1:]}).states[0])
    first = plant.encode({"text": text[:1, :64], "length": torch.tensor([64])}).states[0]
    torch.testing.assert_close(states[0, :edge], first[:edge])


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"quantization": "nf5"}, "quantization"),
        ({"quantization": "nf4", "lm_from_scratch": True}, "lm_from_scratch"),
        ({"lm_window": 65}, "lm_window"),
        ({"lm_overlap": 64}, "lm_overlap"),
        ({"lm_overlap": -1}, "lm_overlap"),
    ],
)
def test_what_does_not_fit_names_its_key(folders: dict[str, str], options: dict[str, Any], word: str) -> None:
    with pytest.raises(ConfigError, match=rf"network_config\W+{word}"):
        network(folders["bert"], **options)


def test_a_model_that_reads_no_text_is_told(tmp_path: Path) -> None:
    from transformers import ViTConfig

    ViTConfig(hidden_size=32, num_hidden_layers=1, num_attention_heads=4).save_pretrained(tmp_path)
    with pytest.raises(ConfigError, match="reads pixel_values, not text"):
        network(str(tmp_path), lm_from_scratch=True)


@pytest.mark.parametrize("family", ["roberta", "xlm-roberta-xl", "data2vec-text"])
def test_positions_are_numbered_behind_the_padding_id(family: str, tmp_path: Path) -> None:
    from transformers import AutoConfig

    AutoConfig.for_model(
        family, vocab_size=50, hidden_size=32, intermediate_size=48, num_hidden_layers=1, num_attention_heads=4,
        max_position_embeddings=66, pad_token_id=1,
    ).save_pretrained(tmp_path)  # fmt: skip
    plant = network(str(tmp_path), lm_from_scratch=True)
    assert plant.backbone.window == 64
    text = torch.randint(3, 50, (1, 150))
    assert plant.encode({"text": text, "length": torch.tensor([150])}).states.shape == (1, 150, 32)


@pytest.mark.parametrize("family", FAMILIES)
def test_dropout_of_the_language_model_is_ours_to_set(folders: dict[str, str], family: str) -> None:
    def states(rate: float | None) -> list[Tensor]:
        plant = network(folders[family], post_encoder_dropout=0.0, lm_dropout=rate).train()
        return [plant.encode(batch()).states for _ in range(2)]

    first, second = states(0.0)
    assert first.equal(second)
    first, second = states(0.5)
    assert not torch.allclose(first, second)
    own = states(None)  # BERT has a rate of 0.1, the decoders have none
    assert own[0].equal(own[1]) == (family != "bert")


def test_a_rate_of_dropout_may_be_written_as_an_integer(folders: dict[str, str], tmp_path: Path) -> None:
    shutil.copytree(folders["bert"], tmp_path / "bert")
    path = tmp_path / "bert" / "config.json"
    rates = {"hidden_dropout_prob": 0, "attention_probs_dropout_prob": 0}
    path.write_text(json.dumps({**json.loads(path.read_text()), **rates}))
    plant = network(str(tmp_path / "bert"), post_encoder_dropout=0.0, lm_dropout=0.5).train()
    assert not torch.allclose(plant.encode(batch()).states, plant.encode(batch()).states)


def test_dropout_of_what_does_not_train_is_refused(folders: dict[str, str]) -> None:
    for options in ({"lm_weight": folders["bert"], "freeze_encoder": True}, {"encoder": "cnn"}):
        with pytest.raises(ConfigError, match="lm_dropout"):
            PLANT(5, embed_vecs=torch.zeros(9, 4), lm_dropout=0.0, **options)


def test_an_encoder_with_a_decoder_is_refused(tmp_path: Path) -> None:
    from transformers import T5Config

    T5Config(vocab_size=8, d_model=8, num_layers=1, num_heads=1).save_pretrained(tmp_path)
    with pytest.raises(ConfigError, match="an encoder with a decoder"):
        network(str(tmp_path))


@pytest.mark.parametrize("weights", [None, b"cut off"], ids=["none", "torn"])
def test_a_folder_without_weights_that_can_be_read_is_no_model(weights: bytes | None, tmp_path: Path) -> None:
    folder = Path(write_language_model("bert", tmp_path / "bert"))
    for path in folder.glob("*.safetensors"):
        path.unlink()
    if weights is not None:
        (folder / "model.safetensors").write_bytes(weights)
    with pytest.raises(ConfigError, match="no model that transformers can load"):
        network(str(folder))


@pytest.mark.parametrize(
    ("missing", "options"),
    [
        ("peft", {"lora": LORA}),
        ("bitsandbytes", {"quantization": "nf4"}),
        ("accelerate", {"quantization": "int8"}),
    ],
)
def test_a_missing_package_comes_with_its_extra(
    folders: dict[str, str], monkeypatch: pytest.MonkeyPatch, missing: str, options: dict[str, Any]
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(MissingExtraError, match=r"(?s)network_config.*pip install 'plant-plugin\[llm\]'"):
        network(folders["bert"], **options)


def test_presets_are_names_on_the_hub_unless_a_folder_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert language_model("mistral-7b") == "mistralai/Mistral-7B-Instruct-v0.3"
    assert language_model("some/model") == "some/model"
    (tmp_path / "mistral-7b").mkdir()
    assert language_model("mistral-7b") == "mistral-7b"


def test_shapes_of_presets_are_models_of_their_size() -> None:
    from transformers import AutoConfig, AutoModel

    sizes = {"mistral-7b": 7.1, "llama-3.1-8b": 7.5, "phi-3-mini": 3.7, "deepseek-r1-distill-llama-8b": 7.5}
    assert registry.entries("backbones").keys() == sizes.keys()
    for name, billions in sizes.items():  # without the language model head
        with torch.device("meta"):
            model = AutoModel.from_config(AutoConfig.for_model(**registry.get("backbones", name).shape))
        assert model.num_parameters() / 1e9 == pytest.approx(billions, abs=0.06)
        assert len(attention_projections(model)) == 32 * (2 if name == "phi-3-mini" else 4)


def test_what_does_not_train_is_made_for_the_device_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda: True)
    monkeypatch.setenv("LOCAL_RANK", "1")
    assert (loading._place(), loading._narrow_type()) == (torch.device("cuda", 1), torch.bfloat16)
    with loading.made_on(torch.device("cpu")):
        assert (loading._place(), loading._narrow_type()) == (torch.device("cpu"), torch.float32)
    with loading.made_on(torch.device("cuda", 2)):
        assert loading._place() == torch.device("cuda", 2)
