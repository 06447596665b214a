"""Whole networks against LibMultiLabel's of the same width, each with its own batches, on made-up documents.

Predict: from token ids to the five best labels. Epoch: batches, loss, gradient, optimiser; ours is stage 2 as
configured for EURLEX-6K (focal loss, 200 hard negatives), theirs the binary cross-entropy that its trainer uses.
AttentionXML's is one of each of its two levels: clusters of 8 labels, then the labels of 64 clusters a document.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from libmultilabel.nn.data_utils import UNK, get_dataset_loader
from libmultilabel.nn.networks import CNNLWAN, AttentionXML_0, AttentionXML_1, BiGRULWAN
from torch import nn
from torch.nn import functional
from transformers import BertConfig

from plant_plugin.config.options import Stage2Options
from plant_plugin.data.batches import Batches
from plant_plugin.data.token_arrays import TokenArrays
from plant_plugin.evaluation.ranking import top_labels
from plant_plugin.networks.backbone import HuggingFaceBackbone
from plant_plugin.networks.backbone.loading import of_checkpoint
from plant_plugin.networks.construct import construct
from plant_plugin.networks.encoders import word_encoder
from plant_plugin.networks.kernels.dropout import Dropout, take_our_dropout
from plant_plugin.networks.plant import PLANT
from plant_plugin.training.stage import Candidates
from plant_plugin.training.stage2 import Stage2

DOCUMENTS, BATCH, LONGEST, LABELS, TYPES, EMBEDDING, WIDTH = 64, 16, 400, 2632, 20_000, 100, 128  # EURLEX-6K's sizes
BEST = 5
CLUSTER, BEAM = 8, 64  # of AttentionXML


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


Loss = Callable[[dict[str, torch.Tensor]], torch.Tensor]


def of_plant() -> tuple[nn.Module, Any, Loss]:
    """Stage 2 as configured for EURLEX-6K, but for the prior."""
    options = {"encoder": "cnn", "hidden_size": WIDTH, "filter_sizes": [9], "num_heads": 1}
    network = construct("PLANT", LABELS, vectors(), options)
    batches, stage2 = ours(True), Stage2Options(hard_negatives=200)
    settings: Any = SimpleNamespace(epochs=1, patience=1, batch_size=BATCH, learning_rate=0.003)
    stage = Stage2(network, stage2, settings, batches, None)
    return network, batches, lambda batch: stage._loss(network.encode(batch), Candidates.of(batch, LABELS))


def of_cnn_lwan() -> tuple[nn.Module, Any, Loss]:
    network = CNNLWAN(vectors(), LABELS, filter_sizes=[9], num_filter_per_size=WIDTH)
    return network, theirs(True), lambda batch: cross_entropy(network(batch), batch["label"].float())


def of_attention_xml() -> tuple[nn.Module, Any, Loss]:
    levels: list[nn.Module] = [
        kind(vectors(), number, rnn_dim=WIDTH, linear_size=[WIDTH])
        for kind, number in ((AttentionXML_0, -(-LABELS // CLUSTER)), (AttentionXML_1, LABELS))
    ]

    def loss(batch: dict[str, torch.Tensor]) -> torch.Tensor:
        labels = batch["label"].float()
        padded = functional.pad(labels, (0, -LABELS % CLUSTER)).unflatten(1, (-1, CLUSTER)).amax(2)
        first = levels[0](batch)
        clusters = (first["logits"].detach() + 1e6 * padded).topk(BEAM).indices  # a document's own, then the best
        chosen = (clusters[..., None] * CLUSTER + torch.arange(CLUSTER)).flatten(1).clamp(max=LABELS - 1)
        second = levels[1]({**batch, "labels_selected": chosen})
        return cross_entropy(first, padded) + cross_entropy(second, labels.gather(1, chosen))

    return nn.ModuleList(levels), theirs(True), loss


def cross_entropy(found: dict[str, torch.Tensor], target: torch.Tensor) -> torch.Tensor:
    return functional.binary_cross_entropy_with_logits(found["logits"], target)


@pytest.mark.parametrize(
    ("way", "made"),
    [
        ("LibMultiLabel", of_cnn_lwan),
        ("LibMultiLabel's AttentionXML (BiLSTM)", of_attention_xml),
        ("plant_plugin", of_plant),
    ],
)
def test_epoch(measure: Callable[..., Any], way: str, made: Callable[[], tuple[nn.Module, Any, Loss]]) -> None:
    network, batches, loss = made()
    optimizer = torch.optim.Adam(network.parameters(), lr=0.003, fused=way == "plant_plugin")  # as each one's trainer
    network.train()

    def step() -> None:
        for batch in batches:
            optimizer.zero_grad()
            loss(batch).backward()
            optimizer.step()

    step()
    measure(f"epoch: {DOCUMENTS} documents in {BATCH}s, CNN H={WIDTH}, T≤{LONGEST}, L={LABELS:,}", way, step)


@pytest.mark.parametrize("way", ["LibMultiLabel", "plant_plugin"])
@pytest.mark.parametrize("kind", ["bigru", "bilstm"])
def test_recurrent_encoder(measure: Callable[..., Any], kind: str, way: str) -> None:
    torch.manual_seed(0)
    encoder, _ = word_encoder(kind, EMBEDDING, hidden_size=WIDTH)
    if way == "LibMultiLabel":
        encoder = encoder.encoder  # the same layer, over a packed sequence
    embedded = torch.randn(BATCH, LONGEST, EMBEDDING, requires_grad=True)
    length = torch.arange(LONGEST - BATCH + 1, LONGEST + 1)

    def step() -> None:
        encoder(embedded, length).sum().backward()

    step()
    measure(f"{kind} forward+backward: {BATCH} documents, T={LONGEST}, H={WIDTH}", way, step)


@pytest.mark.parametrize("way", ["torch", "plant_plugin"])
def test_dropout(measure: Callable[..., Any], way: str) -> None:
    layer = (nn.Dropout if way == "torch" else Dropout)(0.2)
    states = torch.randn(BATCH, LONGEST, EMBEDDING, requires_grad=True)

    def step() -> None:
        layer(states).sum().backward()

    step()
    measure(f"dropout forward+backward: {BATCH} documents, T={LONGEST}, {EMBEDDING} dimensions", way, step)


@pytest.mark.parametrize(
    ("way", "dropout", "taken_over", "narrow"),
    [
        ("its own dropout, 0.1", None, False, False),
        ("as in a network of ours, 0.1", None, True, False),
        ("precision bf16", 0.0, True, True),
        ("plant_plugin", 0.0, True, False),
    ],
)
def test_a_language_model_that_trains(
    measure: Callable[..., Any], tmp_path: Path, way: str, dropout: float | None, taken_over: bool, narrow: bool
) -> None:
    """MiniLM's shape, random weights: ``lm_dropout: 0`` in fp32 and bf16, its own rates drawn by torch and by us."""
    documents, subwords = 8, 256
    BertConfig(hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536).save_pretrained(
        tmp_path
    )
    torch.manual_seed(0)
    with of_checkpoint(has_weights=True):
        backbone = HuggingFaceBackbone(str(tmp_path), own_dropout=dropout).train()
    if taken_over:
        take_our_dropout(backbone)
    text = torch.randint(1000, 20_000, (documents, subwords))
    length, mask = torch.full((documents,), subwords), torch.ones(documents, subwords, dtype=torch.bool)

    def step() -> None:
        with torch.autocast("cpu", torch.bfloat16, enabled=narrow):
            states = backbone(text, length, mask)
        states.sum().backward()

    step()
    measure(f"language model forward+backward: {documents} × {subwords} sub-words, 6 layers, H=384", way, step)
