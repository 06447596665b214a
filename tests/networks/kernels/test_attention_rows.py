"""Compiled rows of label attention against softmax in double precision."""

from __future__ import annotations

import pytest
import torch

from plant_plugin.networks.kernels.attention_rows import attend, turn_into_gradients
from plant_plugin.networks.kernels.compiled import turn_rows


def test_compiled_softmax_of_scores_far_apart() -> None:
    scores = torch.tensor([[[3e4, -3e4, 2.9999e4]], [[-2e4, -2e4, -2e4]], [[0.0, -1e-9, float("-inf")]]])
    contributions = torch.tensor([1.0, 2.0, 4.0]).expand_as(scores).contiguous()
    attended, normaliser = torch.empty(3, 1), torch.empty(3, 1)
    attend(scores.clone(), contributions.clone(), None, attended, normaliser)
    expected = (scores.double().softmax(-1) * contributions).sum(-1)
    torch.testing.assert_close(attended, expected.float(), atol=1e-6, rtol=1e-6)
    torch.testing.assert_close(normaliser, scores.double().logsumexp(-1).float(), atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("broken", [float("nan"), -float("nan"), float("inf")])
@pytest.mark.parametrize("place", [0, 20])
def test_compiled_rows_hide_no_broken_number(broken: float, place: int) -> None:
    scores = torch.randn(2, 1, 37, generator=torch.Generator().manual_seed(0))
    scores[1, 0, place] = broken
    attended, normaliser = torch.empty(2, 1), torch.empty(2, 1)
    attend(scores.clone(), torch.ones_like(scores), None, attended, normaliser)
    assert attended.isnan().flatten().tolist() == [False, True]
    contributions = torch.ones_like(scores)
    turn_into_gradients(scores, contributions, None, attended, normaliser, torch.ones(2, 1))
    assert scores[1].isnan().all()
    assert contributions[0].isfinite().all()


def test_compiled_rows_are_those_of_torch() -> None:
    torch.manual_seed(0)
    scores, contributions = torch.randn(4, 3, 10), torch.randn(4, 3, 10)
    bias = torch.zeros(3, 10)
    bias[1, 6:] = float("-inf")
    arriving = torch.randn(4, 3)
    results = []
    for kind in (torch.float32, torch.float64):  # compiled, and torch's operations
        parts = [part.to(kind, copy=True) for part in (scores, contributions, bias)]
        attended, normaliser = torch.empty(4, 3, dtype=kind), torch.empty(4, 3, dtype=kind)
        attend(*(part.clone() for part in parts), attended, normaliser)
        turn_into_gradients(*parts, attended, normaliser, arriving.to(kind))
        results.append([attended.double(), normaliser.double(), *(part.double() for part in parts[:2])])
    torch.testing.assert_close(*results, atol=2e-6, rtol=1e-5)
    assert not results[1][0].isnan().any()


def test_gradients_of_a_part_of_a_block_are_compiled_with_those_of_the_whole() -> None:
    torch.manual_seed(0)
    outer = [torch.randn(3, 4) for _ in range(3)]
    results = []
    for sides in ([side[:, 1:3] for side in outer], [side[:, 1:3].contiguous() for side in outer]):
        block = torch.ones(3, 2, 5), torch.ones(3, 2, 5)
        turn_into_gradients(*block, None, *sides)
        results.append(block)
    torch.testing.assert_close(*results, atol=0, rtol=0)
    assert {kind.layout for kinds in turn_rows.signatures for kind in kinds if hasattr(kind, "layout")} == {"C"}
