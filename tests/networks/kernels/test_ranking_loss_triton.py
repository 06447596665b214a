"""The ranking loss in Triton against the plain formula: in Triton's interpreter, and on a GPU where marked ``gpu``."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from triton_cases import GPU, ON_BOTH, SIZES, case, ranking_case

from plant_plugin.networks.kernels import ranking_loss as ranking_loss_module
from plant_plugin.networks.kernels import ranking_loss_triton, triton_choice
from plant_plugin.networks.kernels.label_attention import label_attention_logits
from plant_plugin.networks.kernels.prior import PriorLookup
from plant_plugin.networks.kernels.ranking_loss import ranking_loss_reference

pytestmark = pytest.mark.usefixtures("nan_in_new_tensors")


@pytest.fixture(autouse=True)
def _small_tiles(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the interpreter a few tokens have to make several tiles; a GPU gets the real ones."""
    callspec = getattr(request.node, "callspec", None)
    if callspec is not None and callspec.params.get("device") == "cpu":
        monkeypatch.setattr(ranking_loss_triton, "BETTER", 2)
        monkeypatch.setattr(ranking_loss_triton, "OTHERS", 4)


@ON_BOTH
@pytest.mark.parametrize(("pairs", "k"), [("within", 5), ("within", 10_000), ("top_vs_all", 3)])
def test_ranking_loss_and_its_gradient(device: str, pairs: str, k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranking_loss_module, "ranking_rows", ranking_loss_triton.ranking_rows)
    tokens = 9 if device == "cpu" else 150
    monkeypatch.setattr(ranking_loss_triton, "ELEMENTS_AT_ONCE", 4 * tokens)  # documents share a block of rows
    scores, relevance, mask = ranking_case(device, 3, tokens)
    arriving = torch.rand(2, 3, device=device, dtype=scores.dtype)
    expected = ranking_loss_reference(scores, relevance, mask, k, pairs)
    (expected_gradient,) = torch.autograd.grad(expected, scores, arriving)
    found = ranking_loss_module._RankingLoss.apply(scores, relevance, mask, k, pairs)
    (found_gradient,) = torch.autograd.grad(found, scores, arriving)
    assert expected[:, 1].abs().max() == 0
    assert expected[:, 0].min() > 0
    tolerance = 1e-12 if device == "cpu" else 1e-5
    torch.testing.assert_close(found, expected, atol=tolerance, rtol=tolerance)
    torch.testing.assert_close(found_gradient, expected_gradient, atol=tolerance, rtol=tolerance)


@ON_BOTH
def test_ranking_loss_of_scores_far_apart(device: str) -> None:
    # a pair of tokens for each difference x of scores: the loss is (1 − 1/log2 3) · log2(1 + e^−x)
    differences = torch.tensor([-90.0, 0.0, 12.0, 80.0], device=device)
    scores = torch.stack([differences, torch.zeros_like(differences)], dim=-1)
    relevance = torch.tensor([1.0, 0.0], device=device).expand(4, 2).contiguous()
    real = torch.ones(1, 2, dtype=torch.bool, device=device)
    losses, gradients = ranking_loss_triton.ranking_rows(scores, relevance, real, 5, False)
    by_hand = torch.tensor([47.921023, 0.36907025, 3.2715115e-06, 9.6100362e-36], device=device)
    torch.testing.assert_close(losses, by_hand, atol=0 if device == "cpu" else 3e-7, rtol=1e-6)
    torch.testing.assert_close(gradients[:, 0], -gradients[:, 1], atol=0, rtol=0)


def test_ranking_loss_of_no_rows() -> None:
    for rows, tokens in ((0, 4), (3, 0)):
        empty = torch.zeros(rows, tokens)
        losses, gradients = ranking_loss_triton.ranking_rows(
            empty, empty, torch.ones(1, tokens, dtype=torch.bool), 5, False
        )
        assert (losses.tolist(), gradients.shape) == ([0.0] * rows, (rows, tokens))


@pytest.mark.parametrize("device", [GPU])
@pytest.mark.parametrize("choice", ["auto", "torch", "triton"])
def test_a_chosen_way_gives_the_numbers_of_a_cpu(device: str, choice: str) -> None:
    parts = case("cpu", torch.float32, *SIZES["cuda"])
    scores, relevance, mask = (part.detach() for part in ranking_case("cuda", 3, 150))
    *operands, prior, strength = (part.to(device) if isinstance(part, Tensor) else part for part in parts)
    moved = PriorLookup(prior.table.to(device), prior.columns.to(device))
    try:
        triton_choice.choose(choice)
        logits = label_attention_logits(*operands, moved, strength)
        loss = ranking_loss_module.lambda_rank_loss(scores, relevance, mask, 10)
    finally:
        triton_choice.choose("auto")
    torch.testing.assert_close(logits.cpu(), label_attention_logits(*parts), atol=1e-4, rtol=1e-4)
    expected = ranking_loss_module.lambda_rank_loss(scores.cpu(), relevance.cpu(), mask.cpu(), 10)
    torch.testing.assert_close(loss.cpu(), expected, atol=1e-5, rtol=1e-5)
