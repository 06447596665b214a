"""Label attention by blocks of labels, chunks of documents and threads."""

from __future__ import annotations

import pytest
import torch
from attention_cases import case, other_columns, single, values_and_gradients, with_entries

from plant_plugin.networks.kernels import label_attention_blocks
from plant_plugin.networks.kernels.label_attention import (
    label_attention_logits,
    label_attention_reference,
)
from plant_plugin.networks.kernels.prior import PriorLookup


@pytest.mark.parametrize("block_elements", [1, 5, 10**6])
@pytest.mark.parametrize("chunk_columns", [1, 12, 10**6])
@pytest.mark.parametrize("marked", [False, True])
def test_entries_give_what_the_dense_table_gives(
    marked: bool, block_elements: int, chunk_columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(label_attention_blocks, "CHUNK_COLUMNS", chunk_columns)
    monkeypatch.setattr(label_attention_blocks, "CHUNKS_ELEMENTS", 40)  # more than one list of chunks
    *operands, prior, strength = case()
    prior = with_entries(prior)
    if marked:
        prior = prior._replace(marks=other_columns(prior))
        unmarked = prior._replace(marks=None)
        assert not torch.equal(prior.everywhere(), unmarked.everywhere())
    found = []
    for given in (prior, PriorLookup(prior.dense(), prior.columns, None, prior.marks)):
        strength.grad = None
        logits = label_attention_logits(*operands, given, strength, block_elements=block_elements)
        (logits * torch.arange(1.0, 8.0)).sum().backward()
        found.append((logits, strength.grad))
    torch.testing.assert_close(found[0], found[1])
    torch.testing.assert_close(found[0][0], label_attention_reference(*operands, prior, strength))
    assert strength.grad[2].abs().sum() == 0  # nothing is planted for label 2


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("block_elements", [5, 10**6])
def test_compiled_rows_on_several_threads(threads: int, block_elements: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(label_attention_blocks, "ELEMENTS_OF_A_THREAD", 1)
    parts = single(case(positions=37, labels=11))
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        found = values_and_gradients(label_attention_logits, parts, block_elements=block_elements)
        with torch.inference_mode():
            predicted = label_attention_logits(*parts, block_elements=block_elements)
        assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)
    torch.testing.assert_close(found, values_and_gradients(label_attention_reference, parts), atol=2e-6, rtol=1e-5)
    torch.testing.assert_close(predicted, found[0])
