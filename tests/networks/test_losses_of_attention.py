"""The ranking loss of stage 1 against the literal formula of the paper."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from plant_plugin.networks.kernels.ranking_loss import lambda_rank_loss
from plant_plugin.networks.losses import attention_ndcg, distribution_mse_loss


def literal(scores: np.ndarray, relevance: np.ndarray, k: int, pairs: str) -> float:
    """Equation 2 for one label of one document without padding."""
    positions = len(scores)
    top = sorted(range(positions), key=lambda t: (-relevance[t], t))[: min(k, positions)]
    others = top if pairs == "within" else list(range(positions))
    ideal = sum((2 ** relevance[t] - 1) / math.log2(2 + place) for place, t in enumerate(top))
    if ideal == 0:
        return 0.0
    ranked = sorted(others, key=lambda t: -scores[t])
    discount = {t: 1 / math.log2(2 + place) for place, t in enumerate(ranked)}
    total = 0.0
    for j in top:
        for h in others:
            if relevance[j] > relevance[h]:
                gain = 2 ** relevance[j] - 2 ** relevance[h]
                weight = gain * abs(discount[j] - discount[h]) / ideal
                total += weight * math.log2(1 + math.exp(scores[h] - scores[j]))
    return total


@pytest.mark.parametrize("pairs", ["within", "top_vs_all"])
@pytest.mark.parametrize("k", [1, 3, 100])
def test_equals_the_literal_formula(pairs: str, k: int) -> None:
    generator = np.random.default_rng(k)
    scores = generator.normal(size=(2, 3, 7))
    relevance = generator.choice([0.0, 0.2, 0.5, 1.0], size=(2, 3, 7))
    if k < 7:  # ties at the cut have no defined order: make all values distinct
        relevance = generator.permuted(np.tile(np.linspace(0, 1, 7), (2, 3, 1)), axis=-1)
    mask = torch.ones(2, 7, dtype=torch.bool)
    found = lambda_rank_loss(torch.tensor(scores), torch.tensor(relevance), mask, k, pairs)
    expected = [[literal(scores[b, m], relevance[b, m], k, pairs) for m in range(3)] for b in range(2)]
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-9, atol=1e-12)


def test_by_hand() -> None:
    # two tokens, r = 1 and 0, the worse one ranked first with a lead of 1: |gain| = 1, IDCG = 1,
    # |1 − 1/log2(3)| · log2(1 + e)
    loss = lambda_rank_loss(
        torch.tensor([[[0.0, 1.0]]]), torch.tensor([[[1.0, 0.0]]]), torch.ones(1, 2, dtype=torch.bool)
    )
    assert loss.item() == pytest.approx((1 - 1 / math.log2(3)) * math.log2(1 + math.e), rel=1e-6)


@pytest.mark.parametrize("pairs", ["within", "top_vs_all"])
def test_padding_changes_nothing(pairs: str) -> None:
    torch.manual_seed(1)
    scores, relevance = torch.randn(2, 3, 5), torch.rand(2, 3, 5)
    mask = torch.ones(2, 5, dtype=torch.bool)
    plain = lambda_rank_loss(scores, relevance, mask, 4, pairs)
    wide = [torch.nn.functional.pad(part, (0, 3), value=7.0) for part in (scores, relevance)]
    padded = lambda_rank_loss(*wide, torch.nn.functional.pad(mask, (0, 3)), 4, pairs)
    torch.testing.assert_close(padded, plain)


def test_a_constant_shift_of_the_scores_changes_nothing() -> None:
    scores, relevance = torch.randn(1, 2, 6), torch.rand(1, 2, 6)
    mask = torch.ones(1, 6, dtype=torch.bool)
    shifted = lambda_rank_loss(scores + 3, relevance, mask)
    torch.testing.assert_close(shifted, lambda_rank_loss(scores, relevance, mask), atol=1e-5, rtol=1e-5)


def test_nothing_to_rank_is_zero_with_zero_gradient() -> None:
    scores = torch.randn(1, 2, 4, requires_grad=True)
    loss = lambda_rank_loss(scores, torch.zeros(1, 2, 4), torch.ones(1, 4, dtype=torch.bool))
    loss.sum().backward()
    assert loss.tolist() == [[0.0, 0.0]]
    assert not scores.grad.any()


def test_the_gradient_raises_the_relevant_token_and_the_weight_has_none() -> None:
    scores = torch.zeros(1, 1, 3, requires_grad=True)
    lambda_rank_loss(scores, torch.tensor([[[0.0, 1.0, 0.0]]]), torch.ones(1, 3, dtype=torch.bool)).sum().backward()
    assert scores.grad[0, 0, 1] < 0
    assert scores.grad.sum().item() == pytest.approx(0, abs=1e-6)


def test_mse_of_a_perfect_attention_is_zero_and_of_a_uniform_one_by_hand() -> None:
    relevance, mask = torch.tensor([[[1.0, 0.0], [0.0, 0.0]]]), torch.ones(1, 2, dtype=torch.bool)
    assert distribution_mse_loss(torch.tensor([[[1.0, 0.0], [0.3, 0.7]]]), relevance, mask).tolist() == [[0.0, 0.0]]
    uniform = distribution_mse_loss(torch.full((1, 2, 2), 0.5), relevance, mask)
    assert uniform.tolist() == [[0.25, 0.0]]


def test_attention_ndcg_equals_the_definition() -> None:
    generator = np.random.default_rng(2)
    scores, relevance = generator.normal(size=8), generator.random(8)
    gains = 2**relevance - 1
    discount = 1 / np.log2(np.arange(2, 6))
    expected = (gains[np.argsort(-scores)][:4] * discount).sum() / (np.sort(gains)[::-1][:4] * discount).sum()
    mask = torch.ones(1, 8, dtype=torch.bool)
    found = attention_ndcg(torch.tensor(scores)[None, None], torch.tensor(relevance)[None, None], mask, 4)
    assert found.item() == pytest.approx(expected)
    nothing = attention_ndcg(torch.tensor(scores)[None, None], torch.zeros(1, 1, 8), mask, 4)
    assert math.isnan(nothing.item())
