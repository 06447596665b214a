"""The empty network, as planted scores that do without a network use it."""

from __future__ import annotations

import torch

from plant_plugin.networks.construct import construct
from plant_plugin.networks.no_network import NO_NETWORK


def test_it_is_built_by_its_name_scores_nothing_and_has_nothing_to_train() -> None:
    network = construct(NO_NETWORK, 4, torch.zeros(9, 3), {})
    batch = {"text": torch.tensor([[5, 6, 7], [8, 0, 0]]), "length": torch.tensor([3, 1])}
    assert torch.equal(network(batch)["logits"], torch.zeros(2, 4))
    assert not list(network.parameters())
    assert network.planted_parameters() == []
    hidden, labels = network.encode(batch), torch.tensor([[0, 3], [1, 2]])
    attention = network.attention(hidden, labels)
    torch.testing.assert_close(attention[0], torch.full((2, 3), 1 / 3))
    assert attention[1].tolist() == [[1, 0, 0]] * 2
    added, rest = network.contributions(hidden, labels)
    assert (added.shape, rest.shape) == ((2, 2, 3), (2, 2))
    assert not added.any()
    assert not rest.any()
