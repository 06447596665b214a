"""Focal loss, its asymmetric form and hard negatives against literal formulas."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import numpy as np
import pytest
import torch

from plant_plugin.networks.losses import (
    asymmetric_loss,
    binary_cross_entropy_loss,
    focal_loss,
    hard_negatives,
    reduce_selected,
)

Loss = Callable[..., torch.Tensor]


def literal(logit: float, target: int, gamma: float, smoothing: float) -> float:
    probability = 1 / (1 + math.exp(-logit))
    smooth = 1 - smoothing if target else smoothing
    positive = smooth * (1 - probability) ** gamma * math.log(probability)
    return -(positive + (1 - smooth) * probability**gamma * math.log(1 - probability))


@pytest.mark.parametrize("gamma", [0.0, 1.0, 2.0])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("target", [0, 1])
def test_equals_the_literal_formula(gamma: float, smoothing: float, target: int) -> None:
    logits = torch.linspace(-6, 6, 13, dtype=torch.float64)
    found = focal_loss(logits, torch.full_like(logits, target), gamma, smoothing)
    expected = [literal(float(logit), target, gamma, smoothing) for logit in logits]
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-10)


def test_by_hand() -> None:
    # p = 1/2, y = 1, gamma = 2, epsilon = 0.1: (0.9 + 0.1) · 0.25 · ln 2
    assert focal_loss(torch.tensor(0.0), torch.tensor(1.0)).item() == pytest.approx(0.25 * math.log(2))


@pytest.mark.parametrize("gamma", [0.0, 0.5, 4.0])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("target", [0, 1])
def test_asymmetric_equals_the_literal_formula(gamma: float, smoothing: float, target: int) -> None:
    logits = torch.linspace(-6, 6, 13, dtype=torch.float64)
    found = asymmetric_loss(logits, torch.full_like(logits, target), gamma, smoothing)
    smooth = 1 - smoothing if target else smoothing
    expected = []
    for logit in logits.tolist():
        probability = 1 / (1 + math.exp(-logit))
        shifted = max(probability - 0.05, 0)
        expected.append(-(smooth * math.log(probability) + (1 - smooth) * shifted**gamma * math.log(1 - shifted)))
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-10, atol=1e-7)


def test_improbable_negatives_have_no_asymmetric_gradient_and_rare_positives_a_whole_one() -> None:
    logits = torch.full((2,), -3.5, requires_grad=True)  # p = 0.03
    asymmetric_loss(logits, torch.tensor([1.0, 0.0])).sum().backward()
    np.testing.assert_allclose(logits.grad.numpy(), [1 / (1 + math.exp(-3.5)) * -1, 0.0], rtol=1e-6)


@pytest.mark.parametrize("loss", [focal_loss, asymmetric_loss])
@pytest.mark.parametrize("gamma", [0.5, 2.0])
def test_extreme_logits_stay_finite_and_have_gradients(loss: Loss, gamma: float) -> None:
    logits = torch.tensor([-1e4, -4.0, 1e4], requires_grad=True)
    total = loss(logits, torch.tensor([1.0, 0.0, 0.0]), gamma).sum()
    total.backward()
    assert torch.isfinite(total)
    assert torch.isfinite(logits.grad).all()


def test_gradcheck() -> None:
    logits = torch.randn(5, dtype=torch.float64, requires_grad=True)
    target = torch.tensor([0, 1, 0, 1, 0], dtype=torch.float64)
    for loss in (focal_loss, asymmetric_loss):
        assert torch.autograd.gradcheck(functools.partial(loss, target=target), (logits,))


def test_binary_cross_entropy_is_torchs() -> None:
    logits, target = torch.randn(8), torch.randint(0, 2, (8,)).float()
    expected = torch.nn.functional.binary_cross_entropy_with_logits(logits, target, reduction="none")
    torch.testing.assert_close(binary_cross_entropy_loss(logits, target, label_smoothing=0.0), expected)


def test_hard_negatives_are_all_positives_and_the_highest_negatives_of_each_document() -> None:
    generator = np.random.default_rng(0)
    scores = torch.from_numpy(generator.normal(size=(6, 12)))
    positives = torch.from_numpy(generator.random((6, 12)) < 0.3)
    positives[0] = False
    labels, chosen = hard_negatives(scores, positives, 3)
    for row in range(6):
        negative = [label for label in np.argsort(-scores[row].numpy()) if not positives[row, label]][:3]
        expected = set(negative) | set(np.flatnonzero(positives[row].numpy()))
        assert set(labels[row][chosen[row]].tolist()) == expected


def test_more_hard_negatives_than_labels_takes_all() -> None:
    labels, chosen = hard_negatives(torch.zeros(2, 4), torch.zeros(2, 4, dtype=torch.bool), 100)
    assert chosen.all()
    assert sorted(labels[0].tolist()) == [0, 1, 2, 3]


def test_reductions() -> None:
    losses = torch.tensor([[1.0, 2.0, 4.0], [8.0, 0.5, 0.5]])
    chosen = torch.tensor([[True, True, False], [True, False, False]])
    assert reduce_selected(losses, chosen, 10, "selected").item() == pytest.approx((1.5 + 8) / 2)
    assert reduce_selected(losses, chosen, 10, "labels").item() == pytest.approx((0.3 + 0.8) / 2)
