"""Whole networks against LibMultiLabel's of the same width, each with its own batches, on made-up documents.

Predict: from token ids to the five best labels. Epoch: batches, loss, gradient, optimiser; ours is stage 2 as
configured for EURLEX-6K (focal loss, 200 hard negatives), theirs the binary cross-entropy that its trainer uses.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from libmultilabel.nn.data_utils import UNK, get_dataset_loader
from libmultilabel.nn.networks import CNNLWAN, BiGRULWAN
from torch import nn
from torch.nn import functional

from plant_plugin.data.batches import Batches
from plant_plugin.data.token_arrays import TokenArrays
from plant_plugin.evaluation.ranking import top_labels
from plant_plugin.networks.plant import PLANT
from plant_plugin.options import Stage2Options
from plant_plugin.training.module import positives_of
from plant_plugin.training.stage2 import Stage2

DOCUMENTS, BATCH, LONGEST, LABELS, TYPES, EMBEDDING, WIDTH = 64, 16, 400, 2632, 20_000, 100, 128  # EURLEX-6K's sizes
BEST = 5


def made_up() -> tuple[TokenArrays, sp.csr_array]:
    """Lengths as in EURLEX-6K: a third of the documents at the limit, the others anywhere below it."""
    random = np.random.default_rng(0)
    lengths = random.integers(60, 3 * LONGEST // 2, DOCUMENTS).clip(max=LONGEST)
    ids = (2 + (TYPES - 2) * random.random(lengths.sum()) ** 4).astype(np.int32)
    labels = sp.csr_array(np.float32(random.random((DOCUMENTS, LABELS)) < 5 / LABELS))
    return TokenArrays(ids, np.concatenate([[0], np.cumsum(lengths)])), labels


def ours(shuffle: bool) -> Batches:
    arrays, labels = made_up()
    return Batches(arrays, labels, BATCH, 0, shuffle, seed=0)


def theirs(shuffle: bool) -> Any:
    """LibMultiLabel's loader over the same documents as words."""
    arrays, labels = made_up()
    names = [f"l{label:05d}" for label in range(LABELS)]
    words = {"<pad>": 0, UNK: 1, **{f"w{number}": number for number in range(2, TYPES)}}
    data = [
        {
            "text": [f"w{token}" for token in arrays.ids[arrays.offsets[row] : arrays.offsets[row + 1]]],
            "label": [names[label] for label in labels.indices[labels.indptr[row] : labels.indptr[row + 1]]],
        }
        for row in range(DOCUMENTS)
    ]
    cpu = torch.device("cpu")
    return get_dataset_loader(data, names, cpu, LONGEST, BATCH, shuffle, data_workers=0, word_dict=words)


def vectors() -> torch.Tensor:
    torch.manual_seed(0)
    return torch.randn(TYPES, EMBEDDING)


@pytest.mark.parametrize("way", ["LibMultiLabel", "plant_plugin"])
def test_predict(measure: Callable[..., Any], way: str) -> None:
    network: nn.Module
    if way == "plant_plugin":
        network, batches = PLANT(LABELS, vectors(), encoder="bigru", hidden_size=WIDTH, num_heads=1), ours(False)
    else:
        network, batches = BiGRULWAN(vectors(), LABELS, rnn_dim=WIDTH), theirs(False)
    network.eval()

    @torch.inference_mode()
    def step() -> None:
        for batch in batches:
            top_labels(network(batch)["logits"].numpy(), BEST)

    step()
    measure(f"predict: {DOCUMENTS} documents, BiGRU H={WIDTH}, T≤{LONGEST}, L={LABELS:,}", way, step)


@pytest.mark.parametrize("way", ["LibMultiLabel", "plant_plugin"])
def test_epoch(measure: Callable[..., Any], way: str) -> None:
    network: nn.Module
    batches: Any
    if way == "plant_plugin":
        network = PLANT(LABELS, vectors(), encoder="cnn", hidden_size=WIDTH, filter_sizes=[9], num_heads=1)
        batches, options = ours(True), Stage2Options(hard_negatives=200)
        settings: Any = SimpleNamespace(
            epochs=1, patience=1, batch_size=BATCH, learning_rate=0.003, max_skipped_steps=0
        )
        stage = Stage2(network, options, settings, batches, None)

        def loss(batch: dict[str, torch.Tensor]) -> torch.Tensor:
            return stage._loss(network.encode(batch), positives_of(batch, LABELS))
    else:
        network = CNNLWAN(vectors(), LABELS, filter_sizes=[9], num_filter_per_size=WIDTH)
        batches = theirs(True)

        def loss(batch: dict[str, torch.Tensor]) -> torch.Tensor:
            return functional.binary_cross_entropy_with_logits(network(batch)["logits"], batch["label"].float())

    optimizer = torch.optim.Adam(network.parameters(), lr=0.003)
    network.train()

    def step() -> None:
        for batch in batches:
            optimizer.zero_grad()
            loss(batch).backward()
            optimizer.step()

    step()
    measure(f"epoch: {DOCUMENTS} documents in {BATCH}s, CNN H={WIDTH}, T≤{LONGEST}, L={LABELS:,}", way, step)
