"""The blocked label attention against the plain one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from scipy import sparse

from plant_plugin.networks.kernels import label_attention, label_attention_blocks
from plant_plugin.networks.kernels.attention_rows import attend, turn_into_gradients
from plant_plugin.networks.kernels.label_attention import (
    chosen_label_logits,
    label_attention_logits,
    label_attention_reference,
    plain_where_short,
)
from plant_plugin.networks.kernels.prior import Places, PriorLookup, SparseTable, entries_of, room_for


def case(batch: int = 3, positions: int = 6, heads: int = 2, width: int = 3, labels: int = 7, types: int = 5) -> tuple:
    torch.manual_seed(0)
    queries = torch.randn(labels, heads, width, dtype=torch.float64, requires_grad=True)
    keys = torch.randn(batch, positions, heads, width, dtype=torch.float64, requires_grad=True)
    values = torch.randn(batch, positions, heads, width, dtype=torch.float64, requires_grad=True)
    outputs = torch.randn(labels, heads, width, dtype=torch.float64, requires_grad=True)
    strength = torch.randn(labels, heads, dtype=torch.float64, requires_grad=True)
    lengths = torch.tensor([positions, 1, positions - 2])[:batch]
    mask = torch.arange(positions) < lengths[:, None]
    prior = PriorLookup(torch.rand(labels, types, dtype=torch.float64), torch.randint(0, types, (batch, positions)))
    return queries, keys, values, outputs, mask, prior, strength


@pytest.mark.parametrize("planted", [False, True])
@pytest.mark.parametrize("block_elements", [1, 40, 10**6])
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
        return label_attention_logits(queries, keys, values, outputs, mask, prior, strength, block_elements=40)

    assert torch.autograd.gradcheck(run, (queries, keys, values, outputs, strength))


def test_gradients_without_a_prior() -> None:
    queries, keys, values, outputs, mask, _, _ = case()
    assert torch.autograd.gradcheck(
        lambda *free: label_attention_logits(*free, mask, block_elements=40), (queries, keys, values, outputs)
    )


def with_entries(prior: PriorLookup) -> PriorLookup:
    """A prior that is mostly zero, also for a whole label and a whole token type, as its entries."""
    table = prior.table * (torch.rand(prior.table.shape, generator=torch.Generator().manual_seed(1)) < 0.4)
    table[2], table[:, 1] = 0, 0
    rows = sparse.csr_array(table.numpy())
    assert 0 < rows.nnz < table.numel() / 2
    return PriorLookup(None, prior.columns, SparseTable(lambda: rows.tocsc().T))


def other_columns(prior: PriorLookup) -> torch.Tensor:
    """A second column of the table for each position."""
    generator = torch.Generator().manual_seed(2)
    return torch.randint(0, prior.dense().shape[1], prior.columns.shape, generator=generator)


@pytest.mark.parametrize("block_elements", [1, 40, 10**6])
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


def test_chosen_labels_see_the_same_relevance_in_entries_and_in_the_table() -> None:
    *_, prior, _ = case()
    prior = with_entries(prior)
    table, labels = PriorLookup(prior.dense(), prior.columns), torch.tensor([[3, 2, 3], [0, 6, 5], [1, 1, 4]])
    assert (prior.dense() == 0).any()
    expected = torch.stack([table.table[labels[row]][:, prior.columns[row]] for row in range(3)])
    for lookup in (prior, table):
        assert torch.equal(lookup.of_labels(labels), expected)
        for document in range(3):
            own = lookup.at(document, labels[document])
            assert torch.equal(own.dense()[:, own.columns[0]], expected[document])


def test_what_is_marked_at_a_position_is_added_to_its_relevance() -> None:
    *_, prior, _ = case()
    prior = with_entries(prior)
    prior, labels = prior._replace(marks=other_columns(prior)), torch.tensor([[3, 2, 3], [0, 6, 5], [1, 1, 4]])
    table = PriorLookup(prior.dense(), prior.columns, None, prior.marks)
    of_types = [table.table[labels[row]] for row in range(3)]
    expected = torch.stack([own[:, prior.columns[row]] + own[:, prior.marks[row]] for row, own in enumerate(of_types)])
    for lookup in (prior, table):
        torch.testing.assert_close(lookup.of_labels(labels), expected)
        for document in range(3):
            torch.testing.assert_close(lookup.at(document, labels[document]).everywhere()[:, 0], expected[document])


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


def test_a_prior_needs_its_strength() -> None:
    queries, keys, values, outputs, mask, prior, _ = case()
    labels = torch.tensor([[3, 2], [0, 6], [1, 4]])
    with pytest.raises(ValueError, match="strength"):
        label_attention_logits(queries, keys, values, outputs, mask, prior)
    with pytest.raises(ValueError, match="strength"):
        chosen_label_logits(queries[labels], keys, values, outputs[labels], mask, labels, prior)


def test_narrow_parameters_read_the_entries_too() -> None:
    *operands, prior, strength = (
        part.detach().bfloat16() if torch.is_tensor(part) and part.is_floating_point() else part for part in case()
    )
    prior = with_entries(PriorLookup(prior.table.float(), prior.columns))
    dense = PriorLookup(prior.dense().bfloat16(), prior.columns)
    found = label_attention_logits(*operands, prior, strength)
    assert torch.equal(found, label_attention_logits(*operands, dense, strength))


def test_entries_of_a_block_by_hand() -> None:
    rows = sparse.csr_array(np.array([[0.5, 0, 0], [0, 0, 0], [0.25, 0, 1.0]]))
    table = SparseTable(lambda: rows.tocsc().T)
    found = entries_of(table, Places.of(np.array([2, 0, 1, 0]), size=3), slice(1, 3), room_for(table, 2, 4))
    assert list(zip(*(part.tolist() for part in found), strict=True)) == [(1, 1, 0.25), (1, 3, 0.25), (1, 0, 1.0)]


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


def single(parts: tuple) -> tuple:
    """A case in float32, as the compiled loops take it."""
    *operands, prior, strength = parts
    narrow = [part.detach().float().requires_grad_() if part.is_floating_point() else part for part in operands]
    return *narrow, PriorLookup(prior.table.float(), prior.columns), strength.detach().float().requires_grad_()


def values_and_gradients(way: Callable[..., torch.Tensor], parts: tuple, **options: int) -> list[torch.Tensor]:
    *operands, prior, strength = parts
    free = [*(part for part in operands if part.is_floating_point()), strength]
    logits = way(*operands, prior, strength, **options)
    return [logits, *torch.autograd.grad(logits.sin().sum(), free)]


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("block_elements", [40, 10**6])
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


def test_compiled_softmax_of_scores_far_apart() -> None:
    scores = torch.tensor([[[3e4, -3e4, 2.9999e4]], [[-2e4, -2e4, -2e4]], [[0.0, -1e-9, float("-inf")]]])
    contributions = torch.tensor([1.0, 2.0, 4.0]).expand_as(scores).contiguous()
    attended, normaliser = torch.empty(3, 1), torch.empty(3, 1)
    attend(scores.clone(), contributions.clone(), None, attended, normaliser)
    expected = (scores.double().softmax(-1) * contributions).sum(-1)
    torch.testing.assert_close(attended, expected.float(), atol=1e-6, rtol=1e-6)
    torch.testing.assert_close(normaliser, scores.double().logsumexp(-1).float(), atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("broken", [float("nan"), -float("nan"), float("inf")])
@pytest.mark.parametrize("place", [0, 20])
def test_compiled_rows_hide_no_broken_number(broken: float, place: int) -> None:
    scores = torch.randn(2, 1, 37, generator=torch.Generator().manual_seed(0))
    scores[1, 0, place] = broken
    attended, normaliser = torch.empty(2, 1), torch.empty(2, 1)
    attend(scores.clone(), torch.ones_like(scores), None, attended, normaliser)
    assert attended.isnan().flatten().tolist() == [False, True]
    contributions = torch.ones_like(scores)
    turn_into_gradients(scores, contributions, None, attended, normaliser, torch.ones(2, 1))
    assert scores[1].isnan().all()
    assert contributions[0].isfinite().all()


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
