"""When a GPU's tensors go through Triton; none has to be here."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
import torch

from plant_plugin.networks.kernels import ranking_loss, triton_choice

GPU, CPU = torch.device("cuda"), torch.device("cpu")


@pytest.fixture(autouse=True)
def _installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(triton_choice, "find_spec", lambda name: name)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _: (8, 0))
    kernels = SimpleNamespace(ranking_rows=lambda *_: None)
    monkeypatch.setitem(sys.modules, ranking_loss.__name__ + "_triton", kernels)
    monkeypatch.setattr(torch, "ones", lambda *size, **_: torch.full(size, 1.0))
    triton_choice._works.cache_clear()
    yield
    triton_choice._works.cache_clear()
    triton_choice.choose("auto")


def test_what_takes_triton() -> None:
    assert [triton_choice.takes_triton(GPU, where_auto=auto) for auto in (True, False)] == [True, False]
    triton_choice.choose("triton")
    assert triton_choice.takes_triton(GPU, where_auto=False)
    assert not triton_choice.takes_triton(CPU, where_auto=True)
    triton_choice.choose("torch")
    assert not triton_choice.takes_triton(GPU, where_auto=True)


def test_an_older_gpu_takes_it_only_where_it_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _: (7, 5))
    assert not triton_choice.takes_triton(GPU, where_auto=True)
    triton_choice.choose("triton")
    assert triton_choice.takes_triton(GPU, where_auto=True)


def test_where_no_kernel_runs_torch_is_taken_and_it_is_said(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(*_: object) -> None:
        raise RuntimeError("Failed to find C compiler")

    monkeypatch.setattr(sys.modules[ranking_loss.__name__ + "_triton"], "ranking_rows", fails)
    assert not any(triton_choice.takes_triton(GPU, where_auto=True) for _ in range(2))
    assert [record.message for record in caplog.records] == [
        "Triton does not run on this machine, so torch computes instead: Failed to find C compiler"
    ]


def test_without_triton(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(triton_choice, "find_spec", lambda _: None)
    assert not triton_choice.takes_triton(GPU, where_auto=True)
