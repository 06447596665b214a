"""The ranking loss without stored pairs against the plain one."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from plant_plugin.networks.kernels.ranking_loss import descending, lambda_rank_loss, ranking_loss_reference

KINDS = ("within", "top_vs_all")


def case(seed: int, kind: torch.dtype = torch.float64) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Ties in both, labels without any relevant token, padding also between tokens."""
    generator = torch.Generator().manual_seed(seed)
    scores = torch.randn(3, 40, 9, generator=generator, dtype=kind)
    scores = torch.where(torch.rand(3, 40, 9, generator=generator) < 0.3, scores.round(), scores)
    relevance = torch.rand(3, 40, 9, generator=generator, dtype=kind) * 4
    relevance = (relevance.round() / 4) * (torch.rand(3, 40, 1, generator=generator) < 0.8)
    mask = torch.rand(3, 9, generator=generator) < 0.8
    mask[:, 0] = True
    return scores.requires_grad_(), relevance, mask


@pytest.mark.parametrize("pairs", KINDS)
@pytest.mark.parametrize("k", [2, 4, 100])
@pytest.mark.parametrize("kind", [torch.float32, torch.float64])
def test_value_and_gradient_equal_the_reference(pairs: str, k: int, kind: torch.dtype) -> None:
    scores, relevance, mask = case(k, kind)
    arriving = torch.rand(3, 40, dtype=kind)
    expected = ranking_loss_reference(scores, relevance, mask, k, pairs)
    (expected_gradient,) = torch.autograd.grad(expected, scores, arriving)
    found = lambda_rank_loss(scores, relevance, mask, k, pairs)
    (found_gradient,) = torch.autograd.grad(found, scores, arriving)
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(found_gradient, expected_gradient)
    assert found.dtype == kind
    assert found.max() > 0


@pytest.mark.parametrize("pairs", KINDS)
def test_gradcheck(pairs: str) -> None:
    torch.manual_seed(0)
    scores = torch.randn(2, 3, 6, dtype=torch.float64, requires_grad=True)
    relevance = torch.rand(2, 3, 6, dtype=torch.float64)
    mask = torch.ones(2, 6, dtype=torch.bool)
    mask[1, 4:] = False
    assert torch.autograd.gradcheck(lambda s: lambda_rank_loss(s, relevance, mask, 4, pairs), scores)


def test_single_precision_over_the_whole_range() -> None:
    # a pair of tokens for each difference x of scores: the loss is (1 − 1/log2 3) · log2(1 + e^−x)
    differences = torch.cat([torch.linspace(-3, 3, 601), torch.linspace(-300, 80, 381)])
    scores = torch.stack([differences, torch.zeros_like(differences)], dim=-1)[None].requires_grad_()
    relevance = torch.tensor([1.0, 0.0]).expand(1, len(differences), 2)
    found = lambda_rank_loss(scores, relevance, torch.ones(1, 2, dtype=torch.bool))[0]
    found.sum().backward()
    exact = differences.double().numpy()
    weight = 1 - 1 / math.log2(3)
    np.testing.assert_allclose(
        found.detach().numpy(), weight * np.logaddexp(0, -exact) / math.log(2), rtol=2e-6, atol=1e-18
    )
    slope = -weight / (1 + np.exp(exact)) / math.log(2)
    assert scores.grad is not None
    np.testing.assert_allclose(scores.grad[0, :, 0].numpy(), slope, rtol=2e-6, atol=1e-18)
    np.testing.assert_array_equal(scores.grad[0, :, 0].numpy(), -scores.grad[0, :, 1].numpy())


def test_the_number_of_threads_changes_nothing() -> None:
    scores, relevance, mask = case(5, torch.float32)
    before = torch.get_num_threads()
    found = []
    try:
        for threads in (1, 3):
            torch.set_num_threads(threads)
            loss = lambda_rank_loss(scores, relevance, mask, 4)
            found.append((loss, torch.autograd.grad(loss.sum(), scores)[0]))
    finally:
        torch.set_num_threads(before)
    assert torch.equal(found[0][0], found[1][0])
    assert torch.equal(found[0][1], found[1][1])


def test_padding_and_the_order_of_rows_change_nothing() -> None:
    scores, relevance, mask = case(6, torch.float32)
    plain = lambda_rank_loss(scores, relevance, mask, 4)
    wide = [torch.nn.functional.pad(part, (0, 5), value=9.0) for part in (scores, relevance)]
    torch.testing.assert_close(lambda_rank_loss(*wide, torch.nn.functional.pad(mask, (0, 5)), 4), plain)
    torch.testing.assert_close(
        lambda_rank_loss(scores.flip(0, 1), relevance.flip(0, 1), mask.flip(0), 4), plain.flip(0, 1)
    )


@pytest.mark.parametrize("kind", [torch.float32, torch.float64])
@pytest.mark.parametrize("sign", [1, -1])
def test_scores_that_are_no_numbers_give_a_loss_that_is_none(sign: int, kind: torch.dtype) -> None:
    """NaN with a sign, which ∞ − ∞ is, came after the padding: its gain was written outside of the row's memory."""
    scores, relevance, mask = (
        torch.randn(4, 8, 4000, dtype=kind),
        torch.rand(4, 8, 4000, dtype=kind),
        torch.zeros(4, 4000),
    )
    scores[1, 0, :100] = math.copysign(math.nan, sign)
    mask[:, :200] = 1
    expected = lambda_rank_loss(scores[:1], relevance[:1], mask[:1] > 0, 3000, "top_vs_all")
    for _ in range(5):
        losses = lambda_rank_loss(scores, relevance, mask > 0, 3000, "top_vs_all")
        assert losses.isnan().nonzero().tolist() == [[1, 0]]
        torch.testing.assert_close(losses[:1], expected)


def test_half_precision_scores_give_a_loss_of_their_type() -> None:
    scores, relevance, mask = case(7, torch.float32)
    narrow = scores.detach().bfloat16().requires_grad_()
    loss = lambda_rank_loss(narrow, relevance, mask, 4)
    loss.sum().backward()
    assert narrow.grad is not None
    assert loss.dtype == narrow.grad.dtype == torch.bfloat16
    torch.testing.assert_close(
        loss.float(), lambda_rank_loss(narrow.detach().float(), relevance, mask, 4), rtol=1e-2, atol=0
    )


def test_no_documents_and_no_labels() -> None:
    for batch, labels in ((0, 3), (2, 0)):
        empty = torch.zeros(batch, labels, 4)
        assert lambda_rank_loss(empty, empty, torch.ones(batch, 4, dtype=torch.bool)).shape == (batch, labels)


@settings(max_examples=50, deadline=None)
@given(
    st.lists(
        st.lists(st.sampled_from([0.0, -0.0, 1.0, -1.5, 2e-45, 3e38, -math.inf]), min_size=4, max_size=4), min_size=1
    )
)
def test_the_packed_sort_is_a_stable_descending_sort(rows: list[list[float]]) -> None:
    values = np.array(rows, dtype=np.float32)
    np.testing.assert_array_equal(descending(values), np.argsort(-values, axis=-1, kind="stable"))
    np.testing.assert_array_equal(descending(values), descending(values.astype(np.float64)))
