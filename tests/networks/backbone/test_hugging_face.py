"""A language model as a backbone: windows, positions, dropout, fingerprint, options that do not fit."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from language_networks import batch, network
from tiny_language_models import FAMILIES, WORDS, skip_without, write_language_model
from torch import Tensor

from plant_plugin.errors import ConfigError
from plant_plugin.networks.backbone import HuggingFaceBackbone
from plant_plugin.networks.backbone.loading import of_checkpoint
from plant_plugin.networks.plant import PLANT

skip_without("peft", "bitsandbytes")


def test_the_fingerprint_is_of_the_weights(folders: dict[str, str], tmp_path: Path) -> None:
    prints = {kind: HuggingFaceBackbone(folders["llama"], quantization=kind).fingerprint for kind in ("nf4", "int8")}
    assert prints["nf4"] == prints["int8"] == HuggingFaceBackbone(folders["llama"], frozen=True).fingerprint
    other = write_language_model("llama", tmp_path / "other", seed=3)
    assert HuggingFaceBackbone(other, frozen=True).fingerprint != prints["nf4"]
    assert HuggingFaceBackbone(other).fingerprint is None  # it trains: the checkpoint holds it


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
        ({"lm_window": 65}, "lm_window"),
    ],
)
def test_what_does_not_fit_names_its_key(folders: dict[str, str], options: dict[str, Any], word: str) -> None:
    with pytest.raises(ConfigError, match=rf"network_config\W+{word}"):
        network(folders["bert"], **options)


@pytest.mark.parametrize("family", ["roberta", "xlm-roberta-xl", "data2vec-text"])
def test_positions_are_numbered_behind_the_padding_id(family: str, tmp_path: Path) -> None:
    from transformers import AutoConfig

    AutoConfig.for_model(
        family, vocab_size=50, hidden_size=32, intermediate_size=48, num_hidden_layers=1, num_attention_heads=4,
        max_position_embeddings=66, pad_token_id=1,
    ).save_pretrained(tmp_path)  # fmt: skip
    with of_checkpoint(has_weights=True):
        plant = network(str(tmp_path))
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
