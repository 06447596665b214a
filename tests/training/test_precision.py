from __future__ import annotations

import logging

import pytest
import torch

from plant_plugin.errors import ConfigError
from plant_plugin.training import stage as module
from plant_plugin.training.stage import precision_of, warn_of_slow_bf16

CPU = torch.device("cpu")


@pytest.mark.parametrize(("precision", "slow"), [("bf16", True), ("bf16", False), ("auto", True), ("32", True)])
def test_bf16_where_it_is_slow_is_said(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, precision: str, slow: bool
) -> None:
    monkeypatch.setattr(module, "bf16_is_slow", lambda: slow)
    with caplog.at_level(logging.WARNING):
        warn_of_slow_bf16(precision, CPU)
    assert ("slower than 32 here" in caplog.text) == (slow and precision == "bf16")


@pytest.mark.parametrize(("precision", "named"), [("auto", "32-true"), ("32", "32-true"), ("bf16", "bf16-mixed")])
def test_precision_on_a_processor(precision: str, named: str) -> None:
    assert precision_of(precision, CPU) == named


def test_fp16_is_refused_on_a_processor() -> None:
    with pytest.raises(ConfigError, match="needs a GPU"):
        precision_of("16", CPU)
