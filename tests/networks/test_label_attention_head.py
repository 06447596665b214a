"""The folded head against the head as the paper writes it."""

from __future__ import annotations

import pytest
import torch
from paper_head import reference_logits

from plant_plugin.errors import ConfigError
from plant_plugin.networks.kernels.prior import PriorLookup
from plant_plugin.networks.label_attention_head import LabelAttentionHead
from plant_plugin.networks.plantable import Hidden


def made(
    hidden_size: int = 12, heads: int = 3, pool: int = 4, planted: bool = True
) -> tuple[LabelAttentionHead, Hidden]:
    torch.manual_seed(3)
    head = LabelAttentionHead(
        hidden_size, 9, num_heads=heads, pool_size=pool, prior_strength=4.0 if planted else None
    ).double()
    for parameter in head.parameters():  # biases and boosts off their zeros, so that every term counts
        torch.nn.init.normal_(parameter, std=0.5)
    mask = torch.arange(6) < torch.tensor([6, 2])[:, None]
    prior = PriorLookup(torch.rand(9, 5, dtype=torch.float64), torch.randint(0, 5, (2, 6)))
    return head, Hidden(torch.randn(2, 6, hidden_size, dtype=torch.float64), mask, prior if planted else None)


@pytest.mark.parametrize("planted", [False, True])
@pytest.mark.parametrize("pool", [1, 4, 5, 12])  # 5 does not divide 12: the pool's windows overlap
@pytest.mark.parametrize("heads", [1, 3])
def test_folded_equals_the_reference(planted: bool, pool: int, heads: int) -> None:
    head, hidden = made(heads=heads, pool=pool, planted=planted)
    torch.testing.assert_close(head(hidden), reference_logits(head, hidden))


def test_gradients_equal_those_of_the_reference() -> None:
    head, hidden = made(pool=5)
    weight = torch.randn(2, 9, dtype=torch.float64)
    found = torch.autograd.grad((head(hidden) * weight).sum(), list(head.parameters()))
    expected = torch.autograd.grad((reference_logits(head, hidden) * weight).sum(), list(head.parameters()))
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("planted", [False, True])
def test_selected_labels_have_the_same_logits_and_gradients(planted: bool) -> None:
    head, hidden = made(planted=planted)
    labels = torch.tensor([[0, 8, 3], [5, 5, 1]])
    picked, dense = head.selected_logits(hidden, labels), head(hidden).gather(1, labels)
    torch.testing.assert_close(picked, dense)
    for one, other in zip(
        torch.autograd.grad(picked.square().sum(), list(head.parameters())),
        torch.autograd.grad(dense.square().sum(), list(head.parameters())),
        strict=True,
    ):
        torch.testing.assert_close(one, other)


def test_attention_sums_to_one_and_follows_the_scores_with_one_head() -> None:
    head, hidden = made(heads=1)
    labels = torch.arange(9).expand(2, -1)
    attention, scores = head.attention(hidden, labels, with_prior=False), head.scores(hidden, labels)
    torch.testing.assert_close(attention.sum(-1), torch.ones(2, 9, dtype=torch.float64))
    assert not attention[1, :, 2:].any()  # padding
    torch.testing.assert_close(attention[0].argsort(-1), scores[0].argsort(-1))


def test_the_prior_draws_attention_to_relevant_tokens() -> None:
    head, hidden = made(heads=1)
    labels = torch.arange(9).expand(2, -1)
    with torch.no_grad():
        head.prior_strength.fill_(0.0)
        flat = head.attention(hidden, labels)
        head.prior_strength.fill_(50.0)
        planted = head.attention(hidden, labels)
    best = hidden.prior.table[:, hidden.prior.columns[0]].argmax(-1)  # (L,) for document 0
    assert (planted[0].gather(1, best[:, None]) >= flat[0].gather(1, best[:, None])).all()


def test_starts_as_a_label_wise_linear_output() -> None:
    head = LabelAttentionHead(8, 5, num_heads=2, pool_size=4)
    weight = head.pool @ head.classifier
    torch.testing.assert_close(weight, torch.ones(8))


def test_sizes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ConfigError, match="num_heads"):
        LabelAttentionHead(10, 5, num_heads=3)
    with pytest.raises(ConfigError, match="pool_size"):
        LabelAttentionHead(8, 5, num_heads=2, pool_size=9)


def test_rates_are_matched_to_widths() -> None:
    assert LabelAttentionHead(16, 3, num_heads=4, pool_size=8).rate_factors() == {}
    head = LabelAttentionHead(16, 3, num_heads=4, pool_size=8, matched_rates=True)
    factors = head.rate_factors()
    assert factors[head.label_embeddings] == 2.0  # √(16 / 4)
    shared = [head.query, head.key, head.value, head.merge]
    assert {factors[parameter] for linear in shared for parameter in linear.parameters()} == {0.25}  # 1/√16
    assert not {head.boost_multiply, head.boost_add, head.classifier} & factors.keys()
