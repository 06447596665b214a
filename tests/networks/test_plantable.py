"""The contract of planting, held by every network of ours."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch import Tensor, nn

from plant_plugin.config import registry
from plant_plugin.errors import ConfigError
from plant_plugin.networks.attention_head import HeadNetwork
from plant_plugin.networks.plantable import PlantableNetwork

LABELS, WORDS, DIM = 5, 30, 6
SMALL: dict[str, dict[str, Any]] = {
    "PLANT": {"encoder": "bigru", "hidden_size": 8, "num_heads": 2, "pool_size": 4},
    "LAAT": {"hidden_size": 8, "projection_size": 5},
    "PLMICD": {"lm_window": 3, "projection_size": 5},
    "PLMCA": {"lm_window": 3},
    "PlantedPLMCA": {"lm_window": 3},
    "MultiResCNN": {"filter_sizes": [2, 3], "num_filter_per_size": 4},
    "PlantedCAML": {"filter_sizes": [4], "num_filter_per_size": 8},
    "PlantedBiGRULWAN": {"rnn_dim": 8},
}
# those that add the relevance to the scores of one head; PLANTL2R adds it to the weights: tests/l2r/test_network.py
OURS = [
    name for name, entry in registry.entries("networks").items() if entry.ours and "planted_prior" in entry.signature()
]
PRIORS = pytest.mark.parametrize("planted_prior", ["none", "additive"])
EVERY = pytest.mark.parametrize("name", OURS)
Build = Callable[..., HeadNetwork]


@pytest.fixture
def build(tiny_bert: Path) -> Build:
    """A small network by name, with every parameter off its start, and a relevance where a prior reads one."""

    def made(name: str, planted_prior: str = "none", *, as_drawn: bool = False, **changes: Any) -> HeadNetwork:
        torch.manual_seed(1)
        options = {**SMALL[name], "planted_prior": planted_prior, **changes}
        if "PLM" in name:
            options["lm_weight"] = str(tiny_bert)
        else:
            options["embed_vecs"] = torch.randn(WORDS, DIM)
        network: HeadNetwork = registry.get("networks", name).load()(num_classes=LABELS, **options)
        for parameter in () if as_drawn else network.head.parameters():
            nn.init.normal_(parameter, std=0.5)
        network.plant_relevance(sp.random(LABELS, WORDS, density=0.6, format="csr", random_state=0))
        return network.eval()

    return made


def batch() -> dict[str, Tensor]:
    text = torch.tensor([[5, 6, 7, 8, 9, 10, 11], [12, 13, 0, 0, 0, 0, 0], [7, 8, 5, 20, 0, 0, 0]])
    length = torch.tensor([7, 2, 4])
    return {"text": text, "length": length, "mask": torch.arange(7) < length[:, None]}


def test_every_network_of_ours_is_tested() -> None:
    assert set(SMALL) == set(OURS)


@EVERY
def test_the_strength_of_the_prior_learns(build: Build, name: str) -> None:
    network = build(name, "additive")
    strength = network.head.prior_strength
    assert strength is not None
    assert strength.shape == (LABELS, network.head.num_heads)
    network(batch())["logits"].square().sum().backward()
    assert moved(strength)
    assert build(name, "none").head.prior_strength is None
    with pytest.raises(ConfigError, match=r"planted_prior: has no choice 'head'"):
        build(name, "head")


@EVERY
def test_every_label_starts_at_the_given_logit(build: Build, name: str) -> None:
    network = build(name, initial_logit=-1.5, as_drawn=True)
    labels = torch.arange(LABELS).expand(3, -1)
    _, bias = network.contributions(network.encode(batch()), labels)
    torch.testing.assert_close(bias.broadcast_to(labels.shape), torch.full(labels.shape, -1.5))


@PRIORS
@EVERY
class TestEveryNetwork:
    def test_folding_changes_nothing_and_training_forgets_it(self, build: Build, name: str, planted_prior: str) -> None:
        network = build(name, planted_prior)
        with torch.inference_mode():
            before = network(batch())["logits"]
            network.fold()
            assert torch.equal(network(batch())["logits"], before)
        for parameter in network.head.parameters():
            parameter.data.mul_(2)
        network.train()
        network.eval()
        logits = network(batch())["logits"]
        assert not torch.equal(logits, before)
        logits.sum().backward()
        assert all(parameter.grad is not None for parameter in network.planted_parameters())

    def test_shapes_and_attention(self, build: Build, name: str, planted_prior: str) -> None:
        network = build(name, planted_prior)
        assert isinstance(network, PlantableNetwork)
        assert network(batch())["logits"].shape == (3, LABELS)
        hidden, labels = network.encode(batch()), torch.tensor([[0, 4], [1, 1], [3, 2]])
        assert network.scores(hidden, labels).shape == (3, 2, 7)
        for with_prior in (False, True):
            attention = network.attention(hidden, labels, with_prior=with_prior)
            torch.testing.assert_close(attention.sum(-1), torch.ones(3, 2))
            assert not attention[1, :, 2:].any()  # padding

    def test_neither_padding_nor_neighbours_nor_order_change_a_document(
        self, build: Build, name: str, planted_prior: str
    ) -> None:
        network = build(name, planted_prior)
        together = network(batch())["logits"]
        order = torch.tensor([2, 0, 1])
        turned = network({key: value[order] for key, value in batch().items()})["logits"]
        torch.testing.assert_close(turned, together[order])
        for document, length in enumerate(batch()["length"].tolist()):
            alone = {
                key: value[document : document + 1, :length] if value.ndim == 2 else value[document : document + 1]
                for key, value in batch().items()
            }
            torch.testing.assert_close(network(alone)["logits"][0], together[document])

    def test_selected_labels_are_those_of_all(self, build: Build, name: str, planted_prior: str) -> None:
        network = build(name, planted_prior)
        labels = torch.tensor([[0, 4, 2], [1, 1, 3], [3, 2, 0]])
        hidden = network.encode(batch())
        torch.testing.assert_close(network.selected_logits(hidden, labels), network.logits(hidden).gather(1, labels))

    def test_contributions_sum_to_the_logits(self, build: Build, name: str, planted_prior: str) -> None:
        network = build(name, planted_prior)
        labels = torch.tensor([[0, 4, 2], [1, 1, 3], [3, 2, 0]])
        hidden = network.encode(batch())
        contributions, rest = network.contributions(hidden, labels)
        assert contributions.shape == (3, 3, 7)
        assert not contributions[1, :, 2:].any()  # padding
        torch.testing.assert_close(contributions.sum(dim=-1) + rest, network.logits(hidden).gather(1, labels))

    def test_every_parameter_learns(self, build: Build, name: str, planted_prior: str) -> None:
        network = build(name, planted_prior).train()
        network(batch())["logits"].square().sum().backward()
        silent = [key for key, parameter in network.named_parameters() if not moved(parameter)]
        silent = [key for key in silent if ".pooler." not in key]  # BERT's own output layer, which nobody reads
        assert silent == []

    def test_stage_1_moves_what_is_planted_and_nothing_of_the_readout(
        self, build: Build, name: str, planted_prior: str
    ) -> None:
        network = build(name, planted_prior)
        network.scores(network.encode(batch()), torch.arange(LABELS).expand(3, -1)).square().sum().backward()
        found = {key for key, parameter in network.head.named_parameters() if moved(parameter)}
        ids = {id(parameter) for parameter in network.planted_parameters()}
        planted = {key for key, parameter in network.head.named_parameters() if id(parameter) in ids}
        assert found == planted - {"prior_strength"}
        assert ("prior_strength" in planted) == (planted_prior == "additive")

    def test_the_prior_changes_the_logits_only_where_it_is_planted(
        self, build: Build, name: str, planted_prior: str
    ) -> None:
        network = build(name, planted_prior)
        before = network(batch())["logits"]
        network.plant_relevance(sp.csr_array((LABELS, WORDS)))
        assert torch.allclose(network(batch())["logits"], before) == (planted_prior == "none")

    def test_works_without_a_mask(self, build: Build, name: str, planted_prior: str) -> None:
        network, given = build(name, planted_prior), batch()
        with_mask = network(given)["logits"]
        del given["mask"]
        torch.testing.assert_close(network(given)["logits"], with_mask)


def moved(parameter: nn.Parameter) -> bool:
    return parameter.grad is not None and bool(parameter.grad.any())


@pytest.mark.parametrize(
    ("name", "changes", "word"),
    [
        ("LAAT", {"hidden_size": 7}, "hidden_size"),
        ("LAAT", {"planted_prior": "yes"}, "planted_prior"),
        ("PLMICD", {"lm_window": 7}, "lm_window"),
        ("PLMCA", {"lm_window": 7}, "lm_window"),
        ("MultiResCNN", {"filter_sizes": []}, "filter_sizes"),
        ("PlantedCAML", {"filter_sizes": [3, 4]}, "filter_sizes"),
    ],
)
def test_options_that_do_not_fit_name_themselves(build: Build, name: str, changes: dict[str, Any], word: str) -> None:
    with pytest.raises(ConfigError, match=word):
        build(name, **changes)


def test_relevance_of_another_number_of_labels_is_refused(build: Build) -> None:
    with pytest.raises(ValueError, match="relevance of 4 labels"):
        build("LAAT").plant_relevance(sp.csr_array((4, WORDS)))


def test_narrow_products_in_training_only(build: Build) -> None:
    network = build("PLMCA")
    exact = network(batch())["logits"]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        hidden = network.encode(batch())
        evaluated, trained = network.logits(hidden), network.train().logits(hidden)
    assert evaluated.dtype == trained.dtype == torch.float32
    assert not torch.equal(evaluated, trained)
    np.testing.assert_allclose(trained.detach(), exact.detach(), atol=0.3)
