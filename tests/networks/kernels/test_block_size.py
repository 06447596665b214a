"""Labels of a block: as many as memory is for, and more of a long document."""

from __future__ import annotations

import pytest
import torch
from attention_cases import case, single, values_and_gradients

from plant_plugin.networks.kernels import block_size
from plant_plugin.networks.kernels.block_size import BLOCK_ELEMENTS, BLOCK_ELEMENTS_GPU, LABELS, TIMES, labels_at_once
from plant_plugin.networks.kernels.label_attention import label_attention_logits


@pytest.mark.parametrize(
    ("columns", "labels"),
    [(512, 1024), (2048, 256), (4096, 256), (16_384, 256), (20_000, 209), (10**6, 4), (10**7, 1)],
)
def test_a_long_document_has_more_labels_in_a_block(columns: int, labels: int) -> None:
    assert labels_at_once(BLOCK_ELEMENTS, torch.empty(1, 1, columns)) == labels
    assert labels * columns <= max(TIMES * BLOCK_ELEMENTS, columns)
    assert labels <= max(LABELS, BLOCK_ELEMENTS // columns)


def test_elsewhere_memory_alone_decides() -> None:
    keys = torch.empty(1, 1, 2**20, device="meta")
    assert labels_at_once(BLOCK_ELEMENTS_GPU, keys) == 64


def test_larger_blocks_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = single(case(positions=37, labels=11))
    larger = values_and_gradients(label_attention_logits, parts, block_elements=50)
    monkeypatch.setattr(block_size, "TIMES", 1)
    torch.testing.assert_close(larger, values_and_gradients(label_attention_logits, parts, block_elements=50))
