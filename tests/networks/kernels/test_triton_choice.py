"""When a GPU's tensors go through Triton; none has to be here."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from plant_plugin.config.sections import OPTIONS
from plant_plugin.errors import ConfigError, MissingExtraError
from plant_plugin.networks.kernels import triton_choice

GPU, CPU = torch.device("cuda"), torch.device("cpu")


@pytest.fixture(autouse=True)
def _installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(triton_choice, "find_spec", lambda name: name)
    yield
    triton_choice.choose("auto")


def test_what_takes_triton() -> None:
    assert [triton_choice.takes_triton(GPU, where_auto=auto) for auto in (True, False)] == [True, False]
    triton_choice.choose("triton")
    assert triton_choice.takes_triton(GPU, where_auto=False)
    assert not triton_choice.takes_triton(CPU, where_auto=True)
    triton_choice.choose("torch")
    assert not triton_choice.takes_triton(GPU, where_auto=True)


def test_the_configuration_offers_the_same_choices() -> None:
    assert OPTIONS["kernels"].choices == triton_choice.CHOICES


def test_a_choice_that_is_none() -> None:
    with pytest.raises(ConfigError, match="none of auto, torch, triton"):
        triton_choice.choose("blocks")


def test_without_triton(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(triton_choice, "find_spec", lambda _: None)
    with pytest.raises(MissingExtraError, match=r"plant-plugin\[gpu\]"):
        triton_choice.choose("triton")
    assert not triton_choice.takes_triton(GPU, where_auto=True)
