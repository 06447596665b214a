"""PLANT over every kind of backbone, and inside LibMultiLabel's own trainer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from plant_plugin.errors import ConfigError
from plant_plugin.networks.plant import PLANT

WORD = {"hidden_size": 8, "num_heads": 2, "pool_size": 4, "filter_sizes": [3], "post_encoder_dropout": 0.0}


def network(kind: str, tiny_bert: Path, **options: Any) -> PLANT:
    torch.manual_seed(1)
    if kind == "hugging_face":
        return PLANT(5, lm_weight=str(tiny_bert), num_heads=2, pool_size=4, **options).eval()
    return PLANT(5, embed_vecs=torch.randn(30, 6), encoder=kind, **WORD, **options).eval()


def batch() -> dict[str, torch.Tensor]:
    text = torch.tensor([[5, 6, 7, 8, 9, 10, 11], [12, 13, 0, 0, 0, 0, 0]])
    length = torch.tensor([7, 2])
    return {"text": text, "length": length, "mask": torch.arange(7) < length[:, None]}


@pytest.mark.parametrize("kind", ["cnn", "bigru", "bilstm", "hugging_face"])
class TestEveryBackbone:
    def test_logits_do_not_depend_on_padding_or_its_id(self, kind: str, tiny_bert: Path) -> None:
        plant = network(kind, tiny_bert)
        alone = {name: value[1:, :2] if value.ndim == 2 else value[1:] for name, value in batch().items()}
        together = batch()
        torch.testing.assert_close(plant(together)["logits"][1:], plant(alone)["logits"])
        if kind == "hugging_face":
            together["text"][1, 2:] = 29
            torch.testing.assert_close(plant(together)["logits"][1:], plant(alone)["logits"])

    def test_every_parameter_of_the_head_learns(self, kind: str, tiny_bert: Path) -> None:
        plant = network(kind, tiny_bert, planted_prior="additive")
        plant.plant_relevance(sp.random(5, 30, density=0.5, format="csr", random_state=0))
        plant(batch())["logits"].square().sum().backward()
        silent = [name for name, parameter in plant.head.named_parameters() if parameter.grad is None]
        assert not silent
        assert any(parameter.grad is not None for parameter in plant.backbone.parameters())

    def test_the_planted_prior_changes_the_logits(self, kind: str, tiny_bert: Path) -> None:
        plant = network(kind, tiny_bert, planted_prior="additive")
        before = plant(batch())["logits"]
        plant.plant_relevance(sp.random(5, 30, density=0.5, format="csr", random_state=0))
        assert not torch.allclose(plant(batch())["logits"], before)


def test_long_documents_go_in_windows_whose_states_are_joined(tiny_bert: Path) -> None:
    plant = network("hugging_face", tiny_bert, lm_window=3)
    states = plant.encode(batch()).states
    first = {"text": batch()["text"][:1, :3], "length": torch.tensor([3])}
    last = {"text": batch()["text"][:1, 6:], "length": torch.tensor([1])}
    torch.testing.assert_close(states[:1, :3], plant.encode(first).states)
    torch.testing.assert_close(states[:1, 6:], plant.encode(last).states)


def test_the_relevance_of_a_batch_is_that_of_its_tokens(tiny_bert: Path) -> None:
    matrix = sp.random(5, 30, density=0.5, format="csr", random_state=0)
    plant = network("cnn", tiny_bert, planted_prior="additive")
    plant.plant_relevance(matrix)
    found = plant.relevance_of(batch())
    expected = matrix.toarray()[:, batch()["text"].numpy()]
    np.testing.assert_allclose(found.dense()[:, found.columns].numpy(), expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({}, "encoder"),
        ({"encoder": "cnn", "lm_weight": "x"}, "encoder"),
        ({"encoder": "cnn"}, "word vectors"),
        ({"encoder": "cnn", "planted_prior": "yes"}, "planted_prior"),
        ({"encoder": "cnn", "num_heads": 7}, "num_heads"),
        ({"lm_weight": "no/such model"}, "lm_weight"),
    ],
)
def test_options_that_do_not_fit_name_themselves(options: dict[str, Any], word: str) -> None:
    vectors = None if word == "word vectors" else torch.zeros(4, 3)
    with pytest.raises(ConfigError, match=word):
        PLANT(5, embed_vecs=vectors, **options)


def test_a_window_longer_than_the_model_is_refused(tiny_bert: Path) -> None:
    with pytest.raises(ConfigError, match="lm_window"):
        network("hugging_face", tiny_bert, lm_window=7)
