"""Scores of a ranker for all pairs against the hidden layer written out."""

from __future__ import annotations

import torch

from plant_plugin.l2r.pair_scores import ranker_scores, ranker_scores_reference


def test_the_kernel_of_pairs_has_the_numbers_and_gradients_of_its_reference():
    random = torch.Generator().manual_seed(0)
    given = [torch.randn(*shape, dtype=torch.float64, generator=random, requires_grad=True)
             for shape in ((7, 3), (4, 3), (3,))]  # fmt: skip
    torch.testing.assert_close(ranker_scores(*given), ranker_scores_reference(*given))
    assert torch.autograd.gradcheck(ranker_scores, given)
    sparse = torch.zeros(7, 4, dtype=torch.float64).index_fill(0, torch.tensor([2]), 1.5)
    found = [torch.autograd.grad(scores(*given), given, sparse) for scores in (ranker_scores, ranker_scores_reference)]
    torch.testing.assert_close(*found)
