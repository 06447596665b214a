"""Language models from configuration to memory: quantised, adapted, refused."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from language_networks import LORA, batch, network
from tiny_language_models import FAMILIES, skip_without, write_language_model
from torch import nn

from plant_plugin.config import registry
from plant_plugin.errors import ConfigError, MissingExtraError
from plant_plugin.networks.backbone import HuggingFaceBackbone, loading
from plant_plugin.networks.backbone.loading import attention_projections, of_checkpoint

skip_without("peft", "bitsandbytes")


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


def test_a_model_that_reads_no_text_is_told(tmp_path: Path) -> None:
    from transformers import ViTConfig

    ViTConfig(hidden_size=32, num_hidden_layers=1, num_attention_heads=4).save_pretrained(tmp_path)
    with of_checkpoint(has_weights=True), pytest.raises(ConfigError, match="reads pixel_values, not text"):
        network(str(tmp_path))


def test_quantised_weights_are_in_no_checkpoint(folders: dict[str, str]) -> None:
    with of_checkpoint(has_weights=True), pytest.raises(ConfigError, match="network_config: quantization"):
        network(folders["bert"], quantization="nf4")


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
