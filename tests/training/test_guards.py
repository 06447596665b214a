"""Steps that are not finite, and memory that runs out."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from plant_plugin.config import Config
from plant_plugin.errors import PlantError
from plant_plugin.networks.kernels import label_attention
from plant_plugin.training import guards
from plant_plugin.training.guards import StepGuard, in_pieces, out_of_memory
from plant_plugin.training.run import run
from plant_plugin.training.stage import so_many
from plant_plugin.training.stage2 import Stage2

Made = Callable[..., Config]
SHORT = {"strategy": "end_to_end", "stage2__epochs": 1}


def weights(config: Config) -> dict[str, torch.Tensor]:
    return load_file(config.checkpoint_dir / "model.safetensors")


def test_a_guard_counts_and_ends(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guards, "MOST_SKIPPED", 1)
    guard = StepGuard("stage2", lambda documents: [f"hash{document}" for document in documents])
    good, bad = torch.tensor(1.0), torch.tensor(float("inf"))
    guard.saw(torch.tensor([1, 2]), good)
    assert guard.finite(good)
    guard.saw(torch.tensor([3]), good)
    guard.saw(torch.tensor([4, 5]), bad)
    assert not guard.finite(good)
    guard.skip(0, 6)
    assert "stage2, epoch 1, batch 7" in caplog.text
    assert "hash4, hash5" in caplog.text  # the batch of the infinite loss
    assert "hash3" not in caplog.text
    guard.saw(torch.tensor([6]), good)
    assert not guard.finite(bad)
    assert guard.finite(bad, scaled=True)  # fp16: the scaler will answer with a smaller factor
    guard.saw(torch.tensor([6]), bad)
    assert not guard.finite(good, scaled=True)
    with pytest.raises(PlantError, match="in 2 steps"):
        guard.skip(0, 7)


def documents_of_steps(monkeypatch: pytest.MonkeyPatch, *, not_finite: int) -> list[list[int]]:
    """What each loss of stage 2 is asked of, as it is asked; the loss of that number, from 1, is NaN."""
    loss, calls = Stage2.training_loss, list[list[int]]()

    def once(self: Any, batch: Any) -> torch.Tensor:
        calls.append(batch["document"].tolist())
        return loss(self, batch) * (float("nan") if len(calls) == not_finite else 1)

    monkeypatch.setattr(Stage2, "training_loss", once)
    return calls


def test_a_step_that_is_not_finite_is_left_out(
    made: Made, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    calls = documents_of_steps(monkeypatch, not_finite=3)
    config = made(**SHORT)
    with caplog.at_level(logging.WARNING):
        result = run(config)
    assert result["counts"]["skipped_steps"] == 1
    assert all(tensor.isfinite().all() for tensor in weights(config).values())
    texts = [line.rstrip("\n").split("\t")[1] for line in (tmp_path / "train.txt").read_text().splitlines()]
    for document in calls[2]:
        assert hashlib.sha256(texts[document].encode()).hexdigest()[:12] in caplog.text
        assert texts[document] not in caplog.text


def test_of_a_batch_in_pieces_the_one_that_is_not_finite_is_named(
    made: Made, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    calls = documents_of_steps(monkeypatch, not_finite=1)
    monkeypatch.setattr(Stage2, "on_train_start", lambda self: setattr(self, "pieces", 2))
    run(made(**SHORT))
    texts = [line.rstrip("\n").split("\t")[1] for line in (tmp_path / "train.txt").read_text().splitlines()]
    (said,) = (record.getMessage() for record in caplog.records if "not finite" in record.getMessage())
    guilty = [hashlib.sha256(texts[document].encode()).hexdigest()[:12] for document in calls[0]]
    assert said.rpartition("texts: ")[2].split(", ") == guilty


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


@pytest.mark.parametrize("accumulate", [1, 2])
def test_out_of_memory_goes_on_with_less_to_the_same_weights(
    made: Made, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, accumulate: int
) -> None:
    without = {"network_config__embed_dropout": 0.0, "network_config__post_encoder_dropout": 0.0}
    given = {**SHORT, **without, "stage2__accumulate": accumulate, "batch_size": 16}
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
