"""Relevance of a batch's tokens with marks: what every kernel reads is the dense sum by hand."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from attention_cases import case, other_columns, with_entries
from scipy import sparse

from plant_plugin.data.batches import Batches, TokenMarks
from plant_plugin.data.token_arrays import TokenArrays
from plant_plugin.networks.construct import construct
from plant_plugin.networks.kernels import prior as prior_module
from plant_plugin.networks.kernels.prior import Places, PlantedRelevance, PriorLookup, SparseTable, entries_of, room_for
from plant_plugin.networks.plantable import PlantableNetwork
from plant_plugin.training.guards import in_pieces

LABELS, TOKENS = 5, 20
RELEVANCE = sp.random(LABELS, TOKENS, density=0.4, format="csr", random_state=0, dtype=np.float32)
LENGTHS = [7, 0, 4, 9, 1]  # a document without tokens


def batches(density: float, size: int = len(LENGTHS), *, marked: tuple[int, ...] = (0, 1, 2, 3, 4)) -> Batches:
    """Documents whose tokens are marked at random, those of ``marked`` only."""
    random = np.random.default_rng(1)
    arrays = TokenArrays.from_flat(random.integers(2, TOKENS, sum(LENGTHS)).astype(np.int32), LENGTHS, frozenset())
    own = np.repeat(np.isin(np.arange(len(LENGTHS)), marked), LENGTHS)
    values = (random.random((sum(LENGTHS), LABELS)) * (random.random((sum(LENGTHS), LABELS)) < density)) * own[:, None]
    marks = TokenMarks(sp.csr_array(values.astype(np.float32)), arrays.offsets)
    labels = sp.csr_array((random.random((len(LENGTHS), LABELS)) < 0.5).astype(np.float32))
    return Batches(arrays, labels, size, 0, shuffle=False, seed=0, marks=marks)


def expected_of(batch: dict[str, torch.Tensor]) -> np.ndarray:
    """Relevance (L, B, T), by hand."""
    found = RELEVANCE.toarray()[:, batch["text"].numpy()]
    width = batch["text"].shape[1]
    for place, label, value in zip(
        *(batch[f"mark_{part}"].tolist() for part in ("place", "label", "value")), strict=True
    ):
        found[label, place // width, place % width] += value
    return found


@pytest.mark.parametrize("density", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("rows_above", [0, LABELS])
def test_relevance_with_marks_is_the_sum_by_hand(
    density: float, rows_above: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prior_module, "ROWS_ABOVE", rows_above)
    relevance = PlantedRelevance(RELEVANCE)
    (batch,) = batches(density)
    prior = relevance.lookup(batch["text"], (batch["mark_place"], batch["mark_label"], batch["mark_value"]))
    expected = expected_of(batch)
    np.testing.assert_allclose(prior.everywhere().numpy(), expected, rtol=1e-6)
    chosen = torch.tensor([[4, 0], [1, 1], [2, 3], [0, 4], [3, 2]])
    of_chosen = np.stack([expected[own, row] for row, own in enumerate(chosen.numpy())])
    np.testing.assert_allclose(prior.of_labels(chosen).numpy(), of_chosen, rtol=1e-6)
    for row, own in enumerate(chosen):
        np.testing.assert_allclose(prior.at(row, own).everywhere()[:, 0].numpy(), of_chosen[row], rtol=1e-6)
    without = relevance.lookup(batch["text"])
    assert without.marks is None
    assert torch.equal(without.everywhere(), prior.everywhere()) == (density == 0)


def test_a_few_of_many_labels_are_read_without_the_table_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prior_module, "ROWS_ABOVE", 0)
    relevance = PlantedRelevance(RELEVANCE)
    (batch,) = batches(0.0)
    chosen = torch.tensor([[4, 0], [1, 1], [2, 3], [0, 4], [3, 2]])
    prior = relevance.lookup(batch["text"])
    of_labels = prior.of_labels(chosen)
    torch.testing.assert_close(prior.at(1, chosen[1]).everywhere()[:, 0], of_labels[1])
    assert "_by_token" not in vars(relevance)
    prior.dense()
    assert "_by_token" in vars(relevance)


def network(prior: str = "additive") -> PlantableNetwork:
    torch.manual_seed(2)
    options = {"encoder": "cnn", "hidden_size": 8, "num_heads": 2, "pool_size": 4, "filter_sizes": [3], "embed_dim": 6}
    made = construct("PLANT", LABELS, torch.randn(TOKENS, 6), {**options, "planted_prior": prior})
    made.plant_relevance(RELEVANCE)
    return made.eval()


@pytest.mark.parametrize("marked", [(), (3,), (0, 2, 3, 4)])
def test_pieces_of_a_batch_have_the_loss_and_gradient_of_the_whole(marked: tuple[int, ...]) -> None:
    """Documents, and whole pieces, without any mark included."""
    (whole,) = batches(0.5, marked=marked)
    plant = network()

    def summed(*parts: dict[str, torch.Tensor]) -> tuple[torch.Tensor, list[torch.Tensor]]:
        losses = []
        for part in parts:
            logits = plant(part)["logits"]
            truth = torch.zeros_like(logits)
            truth[part["label_row"], part["label_column"]] = 1
            losses.append(torch.nn.functional.binary_cross_entropy_with_logits(logits, truth, reduction="sum"))
        loss = torch.stack(losses).sum()
        return loss.detach(), list(torch.autograd.grad(loss, list(plant.parameters())))

    loss, gradients = summed(whole)
    pieces = in_pieces(whole, 3)
    assert [len(piece["document"]) for piece in pieces] == [2, 2, 1]
    assert sum(len(piece["mark_place"]) for piece in pieces) == len(whole["mark_place"])
    of_pieces = summed(*pieces)
    torch.testing.assert_close(of_pieces[0], loss)
    for one, other in zip(of_pieces[1], gradients, strict=True):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-4)


def test_marks_change_only_the_documents_that_have_them() -> None:
    plant = network()
    with torch.inference_mode():
        logits = [torch.zeros(len(LENGTHS), LABELS) for _ in range(2)]
        for found, marked in zip(logits, ((), (0, 3)), strict=True):
            for batch in batches(0.5, 2, marked=marked):
                found[batch["document"]] = plant(batch)["logits"]
    changed = (logits[0] != logits[1]).any(dim=1).tolist()
    assert changed == [True, False, False, True, False]


def test_a_network_without_a_prior_passes_over_marks() -> None:
    plant = network("none")
    (with_marks,), (without,) = batches(0.5), batches(0.0)
    assert len(with_marks["mark_place"])
    assert torch.equal(plant(with_marks)["logits"], plant(without)["logits"])


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


def test_entries_of_a_block_by_hand() -> None:
    rows = sparse.csr_array(np.array([[0.5, 0, 0], [0, 0, 0], [0.25, 0, 1.0]]))
    table = SparseTable(lambda: rows.tocsc().T)
    found = entries_of(table, Places.of(np.array([2, 0, 1, 0]), size=3), slice(1, 3), room_for(table, 2, 4))
    assert list(zip(*(part.tolist() for part in found), strict=True)) == [(1, 1, 0.25), (1, 3, 0.25), (1, 0, 1.0)]
