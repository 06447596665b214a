"""Word embeddings under an encoder."""

from __future__ import annotations

import torch
from torch import nn

from plant_plugin.networks.backbone import EmbeddedWords, WordBackbone
from plant_plugin.networks.encoders import TanhConvolution


def test_embeddings_start_as_a_copy_of_the_vectors_and_padding_does_not_train() -> None:
    vectors = torch.randn(9, 3)
    backbone = EmbeddedWords(TanhConvolution(3, 4, 1), 4, vectors, 0.0)
    assert torch.equal(backbone.embedding.weight, vectors)
    text, length = torch.tensor([[5, 6, 0]]), torch.tensor([2])
    states = backbone(text, length, torch.arange(3) < length[:, None])
    assert states.shape == (1, 3, 4)
    states.sum().backward()
    rows = backbone.embedding.weight.grad.any(dim=1)
    assert rows.nonzero().flatten().tolist() == [5, 6]
    nn.init.zeros_(backbone.embedding.weight)
    assert vectors.any(), "the vectors themselves stay"


def test_layers_hold_every_parameter_from_the_bottom_up() -> None:
    backbone = WordBackbone("bigru", torch.randn(9, 3), hidden_size=4)
    assert backbone.hidden_size == 4
    words, encoder = backbone.layers()
    assert [id(table) for table in words] == [id(table) for table in backbone.word_tables()]
    assert {id(weight) for weight in (*words, *encoder)} == {id(weight) for weight in backbone.parameters()}
