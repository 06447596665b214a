from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from plant_plugin.config import Config
from plant_plugin.report.run import Run
from plant_plugin.training import stage2
from plant_plugin.training.build import build_network
from plant_plugin.training.inputs import Inputs, prepare

Made = Callable[..., Config]


@pytest.mark.parametrize("training", [False, True])  # with dropout both passes must see the same states
@pytest.mark.parametrize("worth_selecting", [0.0, 1.0])
def test_stage2_loss_over_selected_labels_equals_the_dense_way(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, training: bool, worth_selecting: float
) -> None:
    monkeypatch.setattr(stage2, "WORTH_SELECTING", worth_selecting)
    config = made()
    record = Run(tmp_path / "run", silent=True)
    documents = prepare(config, record)
    network = build_network(documents, config, record).train(training)
    batch = next(iter(Inputs(documents).batches("train", 8)))
    module = stage2.Stage2(network, config.stage2, config, Inputs(documents).batches("train", 8), None)
    candidates = stage2.Candidates.of(batch, documents.num_labels)
    positives = candidates.positives
    torch.manual_seed(4)
    loss = module._loss(network.encode(batch), candidates)
    gradients = torch.autograd.grad(loss, list(network.parameters()))

    torch.manual_seed(4)
    logits = network(batch)["logits"]
    total = torch.zeros(())
    for document in range(8):
        order = logits[document].argsort(descending=True).tolist()
        chosen = [label for label in order if not positives[document, label]][:5]
        chosen += torch.nonzero(positives[document]).flatten().tolist()
        target = positives[document, chosen].float()
        total = total + stage2.registry.get("losses", "focal").load()(logits[document, chosen], target).mean() / 8
    torch.testing.assert_close(loss, total)
    for one, other in zip(gradients, torch.autograd.grad(total, list(network.parameters())), strict=True):
        torch.testing.assert_close(one, other, atol=1e-6, rtol=1e-4)
