"""The blocked label attention against the plain one."""

from __future__ import annotations

import pytest
import torch
from attention_cases import case, with_entries

from plant_plugin.networks.kernels import label_attention, label_attention_blocks
from plant_plugin.networks.kernels.label_attention import (
    chosen_label_logits,
    label_attention_logits,
    label_attention_reference,
    plain_where_short,
)
from plant_plugin.networks.kernels.prior import PriorLookup


@pytest.mark.parametrize("planted", [False, True])
@pytest.mark.parametrize("block_elements", [1, 5, 10**6])
@pytest.mark.parametrize("chunk_columns", [1, 12, 10**6])
def test_equals_the_reference(
    planted: bool, block_elements: int, chunk_columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(label_attention_blocks, "CHUNK_COLUMNS", chunk_columns)
    *operands, prior, strength = case()
    if not planted:
        prior = strength = None
    expected = label_attention_reference(*operands, prior, strength)
    found = label_attention_logits(*operands, prior, strength, block_elements=block_elements)
    torch.testing.assert_close(found, expected)


def test_gradients_of_every_operand() -> None:
    queries, keys, values, outputs, mask, prior, strength = case()

    def run(*free: torch.Tensor) -> torch.Tensor:
        queries, keys, values, outputs, strength = free
        return label_attention_logits(queries, keys, values, outputs, mask, prior, strength, block_elements=5)

    assert torch.autograd.gradcheck(run, (queries, keys, values, outputs, strength))


def test_gradients_without_a_prior() -> None:
    queries, keys, values, outputs, mask, _, _ = case()
    assert torch.autograd.gradcheck(
        lambda *free: label_attention_logits(*free, mask, block_elements=5), (queries, keys, values, outputs)
    )


@pytest.mark.parametrize("sparse_prior", [False, True])
@pytest.mark.parametrize("planted", [False, True])
@pytest.mark.parametrize("threads", [1, 2])
def test_chosen_labels_have_the_numbers_and_gradients_of_all(
    threads: int, planted: bool, sparse_prior: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
    monkeypatch.setattr(torch, "set_num_threads", lambda number: None)
    queries, keys, values, outputs, mask, prior, strength = case()
    prior = (with_entries(prior) if sparse_prior else prior) if planted else None
    labels, free = torch.tensor([[3, 2, 3], [0, 6, 5], [1, 1, 4]]), (queries, keys, values, outputs, strength)
    beta = strength if planted else None
    pull, found = torch.tensor([[1.0, -2, 3], [0.5, 1, 2], [3, -1, 1]], dtype=torch.float64), []
    for way in (
        label_attention_reference(queries, keys, values, outputs, mask, prior, beta).gather(1, labels),
        chosen_label_logits(
            queries[labels], keys, values, outputs[labels], mask, labels, prior, None if beta is None else beta[labels]
        ),
    ):
        found.append((way, torch.autograd.grad(way, free[: 4 + planted], pull)))
    torch.testing.assert_close(found[1], found[0])


def test_narrow_parameters_read_the_entries_too() -> None:
    *operands, prior, strength = (
        part.detach().bfloat16() if torch.is_tensor(part) and part.is_floating_point() else part for part in case()
    )
    prior = with_entries(PriorLookup(prior.table.float(), prior.columns))
    dense = PriorLookup(prior.dense().bfloat16(), prior.columns)
    found = label_attention_logits(*operands, prior, strength)
    assert torch.equal(found, label_attention_logits(*operands, dense, strength))


def test_padding_changes_nothing() -> None:
    queries, keys, values, outputs, mask, prior, strength = case()
    longer = torch.nn.functional.pad(mask, (0, 4))
    index = torch.nn.functional.pad(prior.columns, (0, 4))
    wide = [torch.nn.functional.pad(states, (0, 0, 0, 0, 0, 4), value=9.0) for states in (keys, values)]
    found = label_attention_logits(queries, *wide, outputs, longer, PriorLookup(prior.table, index), strength)
    torch.testing.assert_close(found, label_attention_logits(queries, keys, values, outputs, mask, prior, strength))


def test_narrow_products_stay_close_and_the_result_wide() -> None:
    *operands, prior, strength = (
        part.detach().float() if torch.is_tensor(part) and part.is_floating_point() else part for part in case()
    )
    prior = PriorLookup(prior.table.float(), prior.columns)
    wide = label_attention_logits(*operands, prior, strength)
    narrow = label_attention_logits(*operands, prior, strength, product_dtype=torch.bfloat16)
    assert narrow.dtype == torch.float32
    torch.testing.assert_close(narrow, wide, atol=0.15, rtol=0.05)
    assert not torch.equal(narrow, wide)


def test_short_inputs_of_a_prediction_need_nothing_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    *operands, prior, strength = (part.detach() if torch.is_tensor(part) else part for part in case())
    expected = label_attention_logits(*operands, with_entries(prior), strength)
    monkeypatch.setattr(label_attention_blocks, "attended_values", None)
    with plain_where_short():
        found = label_attention_logits(*operands, with_entries(prior), strength)
        torch.testing.assert_close(found, expected)
        monkeypatch.setattr(label_attention, "PLAIN_SCORES", 7 * 3 * 6 * 2 - 1)
        with plain_where_short(), pytest.raises(TypeError):  # one score too many
            label_attention_logits(*operands, prior, strength)
    with pytest.raises(TypeError):
        label_attention_logits(*operands, prior, strength)
