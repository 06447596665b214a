"""Training on a GPU and predicting there: ``python -m pytest -m gpu``. What a processor gives is what is expected."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from tiny_language_models import write_language_model, write_tokenizer

from plant_plugin.config import Config
from plant_plugin.errors import Stopped
from plant_plugin.model.predictor import Predictor
from plant_plugin.networks.kernels import label_attention, triton_choice
from plant_plugin.training.resume import resume_newest
from plant_plugin.training.run import run
from plant_plugin.training.stage2 import Stage2

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU"),
]
Made = Callable[..., Config]
NEAR = 0.1  # of a metric over some forty documents
WITHOUT_CHANCE = {"network_config__embed_dropout": 0.0, "network_config__post_encoder_dropout": 0.0}


@pytest.fixture(autouse=True)
def _no_tf32(monkeypatch: pytest.MonkeyPatch) -> None:
    """cuDNN's convolutions and recurrent layers round fp32 to it unless told otherwise."""
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)


def logits(folder: Path, text: list[str], device: str) -> torch.Tensor:
    return torch.as_tensor(Predictor.load(folder, device=device).logits(text))


@pytest.mark.parametrize("way", ["auto", "torch", "triton"])
@pytest.mark.parametrize("encoder", ["cnn", "bigru", "awd_lstm"])
def test_both_stages_in_full_precision(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str, encoder: str
) -> None:
    monkeypatch.setattr(triton_choice, "_chosen", way)
    given: dict[str, Any] = {**WITHOUT_CHANCE, "network_config__encoder": encoder, "precision": "32"}
    there = run(made(**given, result_dir=str(tmp_path / "there")))
    config = made(**given, cpu=False, result_dir=str(tmp_path / "here"))
    here = run(config)
    assert (there["device"], here["device"]) == ("cpu", torch.cuda.get_device_name())
    for name in ("P@1", "nDCG@5"):
        assert here["metrics"][name] >= there["metrics"][name] - NEAR, name
    texts = [line.partition("\t")[2] for line in (tmp_path / "test.txt").read_text().splitlines()[:5]]
    on_each = [logits(config.checkpoint_dir, texts, device) for device in ("cuda", "cpu")]
    torch.testing.assert_close(*on_each, atol=1e-3, rtol=1e-3)


@pytest.mark.parametrize("precision", ["auto", "bf16", "16"])
def test_narrow_precision_learns_as_much(made: Made, tmp_path: Path, precision: str) -> None:
    there = run(made(result_dir=str(tmp_path / "there")))
    here = run(made(cpu=False, precision=precision, result_dir=str(tmp_path / "here")))
    assert here["metrics"]["nDCG@5"] == pytest.approx(there["metrics"]["nDCG@5"], abs=NEAR)


def test_memory_that_runs_out_is_made_do_with(
    made: Made, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(label_attention, "_halved", 0)
    loss = Stage2.training_loss

    def small_only(self: Any, batch: Any) -> torch.Tensor:
        if len(batch["document"]) > 8:
            torch.empty(2**42, device="cuda")  # 16 TiB
        return loss(self, batch)

    monkeypatch.setattr(Stage2, "training_loss", small_only)
    result = run(made(cpu=False, batch_size=16, stage2__epochs=1, silent=False))
    assert "out of memory; each batch is computed in 2 pieces" in capsys.readouterr().err
    assert result["metrics"]["P@1"] is not None


def test_a_run_that_was_stopped_goes_on_to_the_same_numbers(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: dict[str, Any] = {"cpu": False, "precision": "32", "checkpoint_every": "2"}
    whole = run(made(**given, result_dir=str(tmp_path / "whole")))
    step, calls = Stage2.training_step, []

    def stops(self: Any, *arguments: Any) -> Any:
        calls.append(1)
        if len(calls) == 6:
            raise Stopped("here")
        return step(self, *arguments)

    monkeypatch.setattr(Stage2, "training_step", stops)
    with pytest.raises(Stopped):
        run(made(**given, result_dir=str(tmp_path / "cut")))
    again = run(resume_newest(made(**given, resume="auto", result_dir=str(tmp_path / "cut"))))
    for name in ("P@1", "nDCG@5"):
        assert again["metrics"][name] == pytest.approx(whole["metrics"][name], abs=0.02), name


@pytest.mark.parametrize("quantization", ["none", "nf4", "int8"])
def test_adapters_of_a_language_model(made: Made, tmp_path: Path, quantization: str) -> None:
    pytest.importorskip("peft", reason="needs the extra llm")
    pytest.importorskip("bitsandbytes", reason="needs the extra llm")
    base = tmp_path / "mistral"
    made()  # writes the texts
    write_language_model("mistral", base)
    write_tokenizer([tmp_path / "train.txt"], base)
    network = {
        "lm_weight": str(base), "quantization": quantization, "lora": {"r": 4},
        "gradient_checkpointing": quantization != "int8",
        "num_heads": 2, "pool_size": 8, "planted_prior": "additive",
    }  # fmt: skip
    config = made(cpu=False, network_config=network, batch_size=16, stage1__epochs=1, stage2__epochs=1)
    result = run(config)
    assert result["device"] == torch.cuda.get_device_name()
    assert {"stage1", "stage2"} <= result["time_s"].keys()
    texts = [line.partition("\t")[2] for line in (tmp_path / "test.txt").read_text().splitlines()[:5]]
    on_each = [logits(config.checkpoint_dir, texts, device) for device in ("cuda", "cpu")]
    torch.testing.assert_close(*on_each, atol=0.15, rtol=0.05)
