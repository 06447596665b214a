"""Dropout from a hash: as often, as large and as independent as torch's, and repeatable."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from plant_plugin.networks.construct import construct
from plant_plugin.networks.kernels.dropout import Dropout, keep, take_our_dropout


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("rate", [0.1, 0.2, 0.5, 0.9])
def test_as_many_are_dropped_as_the_rate_says(rate: float, dtype: torch.dtype) -> None:
    torch.manual_seed(1)
    mask = keep(torch.empty(100, 1001, 3, dtype=dtype), rate)
    dropped = (mask == 0).float().mean().item()
    assert abs(dropped - rate) < 5 * (rate * (1 - rate) / mask.numel()) ** 0.5
    assert mask.dtype == dtype
    torch.testing.assert_close(mask.max(), torch.tensor(1 / (1 - rate), dtype=dtype), rtol=1e-2, atol=0)
    assert ((mask == 0) | (mask == mask.max())).all()


def test_elements_do_not_know_of_each_other() -> None:
    torch.manual_seed(2)
    first, second = (keep(torch.empty(400_000), 0.5).view(-1) - 1 for _ in range(2))
    apart = [(first[:-step] * first[step:]).mean().item() for step in (1, 2, 3, 4, 5, 8, 128, 51_200)]
    apart.append((first * second).mean().item())  # two calls
    assert max(map(abs, apart)) < 5 / len(first) ** 0.5


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 7, 1023])
def test_every_size_is_filled(size: int) -> None:
    found = torch.stack([keep(torch.empty(size), 0.5) for _ in range(200)])
    assert ((found == 0) | (found == 2)).all()
    assert (found.std(dim=0) > 0).all()


def test_the_seed_of_torch_decides() -> None:
    ours, states = Dropout(0.3), torch.ones(50, 20)
    torch.manual_seed(3)
    first, next_one = ours(states), ours(states)
    torch.manual_seed(3)
    assert torch.equal(ours(states), first)
    assert not torch.equal(first, next_one)


def test_the_gradient_passes_where_elements_did() -> None:
    states = torch.randn(30, 40, requires_grad=True)
    dropped = Dropout(0.4)(states)
    dropped.sum().backward()
    assert states.grad is not None
    assert torch.equal(states.grad == 0, dropped == 0)
    torch.testing.assert_close(dropped, states * states.grad)


def test_what_torch_does_stays() -> None:
    states = torch.randn(9, 9)
    assert torch.equal(Dropout(0.5).eval()(states), states)
    assert torch.equal(Dropout(0.0)(states), states)
    assert torch.equal(Dropout(1.0)(states), torch.zeros(9, 9))
    in_place = states.clone()
    assert Dropout(0.5, inplace=True)(in_place) is in_place
    assert (Dropout(0.5)(states.double()) == 0).any()  # a type that torch drops


def test_dropouts_within_a_network_are_taken_over() -> None:
    inner = nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.25, inplace=True))
    network = nn.ModuleDict({"inner": inner, "other": nn.Dropout2d(0.5), "own": nn.Dropout(0.1).eval()})
    take_our_dropout(network)
    taken, own = inner[1], network["own"]
    assert isinstance(taken, Dropout)
    assert (taken.p, taken.inplace, taken.training) == (0.25, True, True)
    assert isinstance(own, Dropout)
    assert not own.training
    assert type(network["other"]) is nn.Dropout2d


def test_nothing_is_nothing() -> None:
    assert Dropout(0.5)(torch.empty(0, 3)).shape == (0, 3)


@pytest.mark.parametrize(("name", "options"), [("PLANT", {"encoder": "cnn"}), ("PlantedCAML", {}), ("LAAT", {})])
def test_networks_train_with_it(name: str, options: dict[str, str]) -> None:
    network = construct(name, 7, torch.randn(30, 8), options)
    found = [type(module) for module in network.modules() if isinstance(module, nn.Dropout)]
    assert found
    assert set(found) == {Dropout}
