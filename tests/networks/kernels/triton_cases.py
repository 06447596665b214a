"""Where the Triton kernels can be tested, and arguments of both of them."""

from __future__ import annotations

import os

import pytest
import torch
from torch import Tensor

from plant_plugin.networks.kernels.prior import PriorLookup

pytest.importorskip("triton", reason="Triton is not installed: pip install -e '.[gpu]'")
if os.environ.get("TRITON_INTERPRET") != "1" and not torch.cuda.is_available():
    pytest.skip("without a GPU these need TRITON_INTERPRET=1", allow_module_level=True)

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"


GPU = pytest.param(
    "cuda",
    marks=[
        pytest.mark.gpu,
        pytest.mark.skipif(INTERPRETED or not torch.cuda.is_available(), reason="needs a GPU and no interpreter"),
    ],
)


ON_BOTH = pytest.mark.parametrize(
    "device", [pytest.param("cpu", marks=pytest.mark.skipif(not INTERPRETED, reason="runs on the GPU instead")), GPU]
)


def case(
    device: str,
    kind: torch.dtype,
    shape: tuple[int, int, int, int],
    widths: tuple[int, int],
    lengths: list[int],
    planted: bool = True,
) -> tuple:
    """Arguments of the label attention for B, A, T, L, the widths of keys and values, and documents' lengths."""
    (batch, heads, positions, labels), (key_width, value_width) = shape, widths
    generator = torch.Generator().manual_seed(0)

    def made(*size: int) -> Tensor:
        numbers = torch.randn(*size, generator=generator, dtype=torch.float64) / size[-1] ** 0.25
        return numbers.to(device, kind).requires_grad_()

    queries, keys = made(labels, heads, key_width), made(batch, positions, heads, key_width)
    values, outputs = made(batch, positions, heads, value_width), made(labels, heads, value_width)
    mask = torch.arange(positions) < torch.tensor(lengths)[:, None]
    prior = strength = None
    if planted:
        columns = torch.randint(0, 7, (batch, positions), generator=generator).to(device)
        table = torch.rand(labels, 7, generator=generator, dtype=torch.float64).to(device, kind)
        prior, strength = PriorLookup(table, columns), made(labels, heads)
    return queries, keys, values, outputs, mask.to(device), prior, strength


SIZES = {"cpu": ((2, 2, 19, 17), (20, 5), [19, 6]), "cuda": ((3, 3, 150, 200), (100, 72), [150, 1, 70])}


def ranking_case(device: str, rows: int, tokens: int) -> tuple[Tensor, Tensor, Tensor]:
    """Ties in both, a label without any relevant token, padding also between tokens."""
    generator = torch.Generator().manual_seed(1)
    kind = torch.float64 if device == "cpu" else torch.float32
    scores = torch.randn(2, rows, tokens, generator=generator, dtype=kind)
    scores = torch.where(torch.rand(scores.shape, generator=generator) < 0.3, scores.round(), scores)
    steps = tokens // 2  # few enough for ties, and more than the best tokens have
    relevance = (torch.rand(scores.shape, generator=generator, dtype=kind) * steps).round() / steps
    relevance[:, 1] = 0
    mask = torch.rand(2, tokens, generator=generator) < 0.8
    mask[:, 0] = True
    return scores.to(device).requires_grad_(), relevance.to(device), mask.to(device)
