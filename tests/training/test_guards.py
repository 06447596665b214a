"""Steps that are not finite, and memory that runs out."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from made_up_task import write_splits
from safetensors.torch import load_file

from plant_plugin.config import Config
from plant_plugin.errors import PlantError
from plant_plugin.networks.kernels import label_attention
from plant_plugin.report.run import Run
from plant_plugin.training import guards
from plant_plugin.training.guards import FIXES, StepGuard, in_pieces, limited_memory, out_of_memory
from plant_plugin.training.run import run
from plant_plugin.training.run_settings import so_many
from plant_plugin.training.stage2 import Stage2

Made = Callable[..., Config]
SHORT = {"strategy": "end_to_end", "stage2__epochs": 1}


def weights(config: Config) -> dict[str, torch.Tensor]:
    return load_file(config.checkpoint_dir / "model.safetensors")


def test_a_guard_counts_and_ends(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guards, "MOST_SKIPPED", 1)
    guard = StepGuard("stage2")
    good, bad = torch.tensor(1.0), torch.tensor(float("inf"))
    guard.saw(good)
    assert guard.finite(good)
    guard.saw(good)
    guard.saw(bad)
    assert not guard.finite(good)
    guard.skip(0, 6)
    assert "stage2, epoch 1, batch 7" in caplog.text
    guard.saw(good)
    assert not guard.finite(bad)
    assert guard.finite(bad, scaled=True)  # fp16: the scaler will answer with a smaller factor
    guard.saw(bad)
    assert not guard.finite(good, scaled=True)
    with pytest.raises(PlantError, match="in 2 steps"):
        guard.skip(0, 7)


def test_a_step_that_is_not_finite_is_left_out(
    made: Made, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    loss, calls = Stage2.training_loss, list[int]()

    def once(self: Any, batch: Any) -> torch.Tensor:
        calls.append(len(batch["document"]))
        return loss(self, batch) * (float("nan") if len(calls) == 3 else 1)

    monkeypatch.setattr(Stage2, "training_loss", once)
    config = made(**SHORT)
    with caplog.at_level(logging.WARNING):
        result = run(config)
    assert result["counts"]["skipped_steps"] == 1
    assert "the step is left out (1, at most 20)" in caplog.text
    assert all(tensor.isfinite().all() for tensor in weights(config).values())


def test_steps_that_are_not_finite_change_nothing_and_end_the_stage(
    made: Made, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    loss = Stage2.training_loss
    monkeypatch.setattr(Stage2, "training_loss", lambda self, batch: loss(self, batch) * float("nan"))
    kept = []
    for epochs in (1, 2):
        config = made(
            strategy="end_to_end", stage2__epochs=epochs, weight_decay=0.5, result_dir=str(tmp_path / str(epochs))
        )
        assert run(config)["counts"]["skipped_steps"] == 4 * epochs
        kept.append(weights(config))
    for name, tensor in kept[0].items():
        assert torch.equal(tensor, kept[1][name]), name
    monkeypatch.setattr(guards, "MOST_SKIPPED", 3)
    with pytest.raises(PlantError, match="was not finite in 4 steps"):
        run(made(**SHORT))


def test_out_of_memory_while_layers_are_frozen(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = {"network_config__encoder": "awd_lstm", "stage2__unfreeze_every": 1, "checkpoint_every": "1"}
    loss, calls = Stage2.training_loss, []

    def once(self: Any, batch: Any) -> torch.Tensor:
        calls.append([parameter.requires_grad for parameter in self.network.parameters()])
        if len(calls) == 3:
            raise torch.cuda.OutOfMemoryError
        return loss(self, batch)

    monkeypatch.setattr(Stage2, "training_loss", once)
    run(made(**SHORT, **encoder))
    assert calls[3] == calls[2]  # it goes on as it was
    assert not all(calls[3])


@pytest.mark.parametrize(("limit", "left"), [(0.5, 2), (1, 5), (1.0, 5), (3, 3), (3.0, 3), (9, 5), (0.01, 1), (0, 1)])
def test_a_limit_is_a_share_or_a_whole_number(limit: float, left: int) -> None:
    assert so_many(limit, 5) == left


@pytest.mark.integration
@pytest.mark.parametrize("accumulate", [1, 2])
def test_out_of_memory_goes_on_with_less_to_the_same_weights(
    made: Made, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, accumulate: int
) -> None:
    without = {"network_config__embed_dropout": 0.0, "network_config__post_encoder_dropout": 0.0}
    given = {**SHORT, **without, "accumulate": accumulate, "batch_size": 16}
    whole = made(**given, result_dir=str(tmp_path / "whole"))
    run(whole)
    monkeypatch.setattr(label_attention, "_halved", 0)
    loss, calls = Stage2.training_loss, []

    def small_only(self: Any, batch: Any) -> torch.Tensor:
        calls.append(len(batch["document"]))
        if calls[-1] > 4 and len(calls) > 5:
            raise torch.cuda.OutOfMemoryError
        return loss(self, batch)

    monkeypatch.setattr(Stage2, "training_loss", small_only)
    config = made(**given, silent=False, result_dir=str(tmp_path / "small"))
    run(config)
    said = capsys.readouterr().err
    assert said.count("out of memory; blocks of labels are halved") == 2
    assert "out of memory; each batch is computed in 2 pieces" in said
    assert "out of memory; each batch is computed in 4 pieces" in said
    assert 4 in calls
    one, other = weights(whole), weights(config)
    for name, tensor in one.items():
        torch.testing.assert_close(tensor, other[name], atol=1e-4, rtol=1e-3)
    assert len(json.loads(config.log_path.read_text())["val"]) == 1


def test_the_largest_batch_is_tried_after_the_first_step(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    loss, positions = Stage2.training_loss, list[int]()

    def seen(self: Any, batch: Any) -> torch.Tensor:
        positions.append(batch["text"].numel())
        return loss(self, batch)

    monkeypatch.setattr(Stage2, "training_loss", seen)
    run(made(**SHORT, batch_size=16))
    batches = -(-120 // 16)
    assert len(positions) == batches + 1
    assert positions[1] == max(positions)


def test_memory_that_never_suffices_is_said(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(label_attention, "_halved", label_attention.HALVINGS)

    def never(self: Any, batch: Any) -> torch.Tensor:
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 4 bytes")

    monkeypatch.setattr(Stage2, "training_loss", never)
    with pytest.raises(PlantError, match="memory does not suffice for one document"):
        run(made(**SHORT, batch_size=2))


def test_other_errors_are_not_taken_for_a_lack_of_memory() -> None:
    assert out_of_memory(MemoryError())
    assert not out_of_memory(RuntimeError("shapes do not fit"))


def test_pieces_hold_every_document_and_label_once() -> None:
    batch = {
        "text": torch.arange(10).view(5, 2),
        "document": torch.arange(5),
        "label_row": torch.tensor([0, 2, 2, 4]),
        "label_column": torch.tensor([7, 8, 9, 1]),
    }
    one, two, three = in_pieces(batch, 3)
    assert [piece["document"].tolist() for piece in (one, two, three)] == [[0, 1], [2, 3], [4]]
    assert two["text"].tolist() == [[4, 5], [6, 7]]
    assert (two["label_row"].tolist(), two["label_column"].tolist()) == ([0, 0], [8, 9])
    assert (three["label_row"].tolist(), three["label_column"].tolist()) == ([0], [1])


def test_half_blocks_give_the_same_logits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(label_attention, "_halved", 0)
    torch.manual_seed(1)
    queries, outputs = torch.randn(2, 9, 2, 4)
    keys, values = torch.randn(2, 3, 5, 2, 4)
    operands = (queries, keys, values, outputs, torch.ones(3, 5, dtype=torch.bool))
    whole = label_attention.label_attention_logits(*operands, block_elements=60)
    assert [label_attention.halve_blocks() for _ in range(3)] == [True, True, False]
    torch.testing.assert_close(label_attention.label_attention_logits(*operands), whole)


resource = pytest.importorskip("resource")
PROGRAM = """
import sys
from pathlib import Path
from made_up_task import made_config
from plant_plugin.errors import PlantError
from plant_plugin.training import guards
from plant_plugin.training.run import run

guards.free_and_total_memory = lambda: (600 << 20, 1 << 40)
# weights of 200 MB, as many of gradients, and twice as many of moments
sizes = {"network_config__hidden_size": 8192, "network_config__embed_dim": 2048, "limit_val_batches": 1}
config = made_config(Path(sys.argv[1]), stage1__epochs=1, stage2__epochs=1, batch_size=2, eval_batch_size=2, **sizes)
try:
    print("ended with", run(config)["metrics"]["nDCG@5"])
except PlantError as error:
    print(error.message)
"""
linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux counts a process's data")


@linux
@pytest.mark.integration  # another process imports everything
def test_a_run_that_does_not_fit_ends_with_what_to_lower(tmp_path: Path) -> None:
    write_splits(tmp_path)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", PROGRAM, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr  # no kill, no traceback
    assert "memory" in done.stdout  # of the stage, or where the network is built
    assert "\n  How to fix it: " in done.stdout


@linux
def test_the_limit_ends_with_the_block(tmp_path: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_DATA)
    with limited_memory(Run(tmp_path / "run", silent=True)):
        assert 0 < resource.getrlimit(resource.RLIMIT_DATA)[0] < 1 << 50
    assert resource.getrlimit(resource.RLIMIT_DATA) == before
    with limited_memory(Run(tmp_path / "run", silent=True), limited=False):
        assert resource.getrlimit(resource.RLIMIT_DATA) == before


@pytest.mark.parametrize(("phase", "key"), [("planted_scores", "label_ridge"), ("refit_test", "eval_batch_size"),
                                            ("read", "a larger machine")])  # fmt: skip
def test_the_error_names_the_phase_and_the_keys_that_lower_it(tmp_path: Path, phase: str, key: str) -> None:
    run = Run(tmp_path / "run", silent=True)
    with pytest.raises(PlantError) as caught, limited_memory(run), run.phase(phase):
        raise MemoryError
    assert caught.value.message.startswith(f"{phase.removeprefix('refit_')}: memory does not suffice\n")
    assert key in caught.value.message
    with pytest.raises(RuntimeError, match="shapes"), limited_memory(run), run.phase(phase):
        raise RuntimeError("shapes do not fit")


def test_advice_names_keys_that_are_there(made: Callable[..., Config]) -> None:
    settings = made().as_dict()
    for fix in FIXES.values():
        for word in fix.replace(",", " ").split():
            section, _, inner = word.partition(".")
            if inner:
                assert inner in settings[section], word
