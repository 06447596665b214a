from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from plant_plugin.data.batches import CHUNK_BATCHES, Batches
from plant_plugin.data.token_arrays import TokenArrays

PAD = 9


def arrays_of(documents: list[list[int]]) -> TokenArrays:
    flat = [number for document in documents for number in document]
    offsets = np.concatenate([[0], np.cumsum([len(document) for document in documents])])
    return TokenArrays(np.array(flat, dtype=np.int32), offsets.astype(np.int64))


def random_data(number: int, seed: int = 0, labels: int = 5) -> tuple[list[list[int]], np.ndarray]:
    random = np.random.default_rng(seed)
    documents = [random.integers(1, 9, random.integers(0, 30)).tolist() for _ in range(number)]
    return documents, (random.random((number, labels)) < 0.3).astype(np.float32)


def test_one_batch_by_hand() -> None:
    labels = sp.csr_array(np.array([[0, 1, 1], [0, 0, 0], [1, 0, 0]], dtype=np.float32))
    batches = Batches(arrays_of([[5, 6], [], [7, 8, 4]]), labels, 3, PAD, shuffle=False, seed=0)
    (batch,) = batches
    assert batch["document"].tolist() == [2, 0, 1]  # longest first
    assert batch["text"].tolist() == [[7, 8, 4], [5, 6, PAD], [PAD, PAD, PAD]]
    assert batch["length"].tolist() == [3, 2, 1]
    assert batch["mask"].tolist() == [[True] * 3, [True, True, False], [True, False, False]]
    assert batch["label_row"].tolist() == [0, 1, 1]
    assert batch["label_column"].tolist() == [0, 1, 2]
    assert {name: value.dtype for name, value in batch.items()} == {
        "text": torch.int64, "length": torch.int64, "mask": torch.bool, "document": torch.int64,
        "label_row": torch.int64, "label_column": torch.int64,
    }  # fmt: skip


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 60), st.integers(1, 9), st.booleans(), st.integers(0, 3))
def test_every_document_once_and_whole(number: int, size: int, shuffle: bool, epoch: int) -> None:
    documents, labels = random_data(number, seed=number)
    batches = Batches(arrays_of(documents), sp.csr_array(labels), size, PAD, shuffle, seed=1)
    batches.set_epoch(epoch)
    seen: list[int] = []
    for batch in batches:
        rebuilt = np.zeros((len(batch["document"]), labels.shape[1]))
        rebuilt[batch["label_row"], batch["label_column"]] = 1
        for row, document in enumerate(batch["document"].tolist()):
            seen.append(document)
            assert batch["text"][row][batch["mask"][row]].tolist() == (documents[document] or [PAD])
            np.testing.assert_array_equal(rebuilt[row], labels[document])
        assert torch.equal(batch["mask"].sum(1), batch["length"])
        assert (batch["text"][~batch["mask"]] == PAD).all()
        assert batch["text"].shape[1] == batch["length"].max()
    assert sorted(seen) == list(range(number))
    assert len(batches) == len(list(batches))


def order(batches: Batches) -> list[list[int]]:
    return [batch["document"].tolist() for batch in batches]


def test_seed_and_epoch_decide_the_order() -> None:
    documents, labels = random_data(100)

    def make(seed: int) -> Batches:
        return Batches(arrays_of(documents), sp.csr_array(labels), 4, PAD, True, seed)

    first, second = make(1), make(1)
    assert order(first) == order(second)
    assert order(first) == order(first)
    second.set_epoch(1)
    assert order(second) != order(first)
    first.set_epoch(1)
    assert order(second) == order(first)
    assert order(make(2)) != order(make(1))


def test_shuffled_batches_hold_similar_lengths() -> None:
    documents, labels = random_data(4 * CHUNK_BATCHES)
    bucketed = Batches(arrays_of(documents), sp.csr_array(labels), 4, PAD, True, 1)
    filled = sum(batch["text"].numel() for batch in bucketed)
    assert filled < 1.1 * sum(map(len, documents))
    widths = [batch["text"].shape[1] for batch in bucketed]
    assert widths != sorted(widths)  # the batches themselves come in random order


def test_no_documents() -> None:
    empty = Batches(arrays_of([]), sp.csr_array((0, 3), dtype=np.float32), 4, PAD, True, 1)
    assert list(empty) == []
    assert len(empty) == 0


def test_as_a_lightning_data_loader() -> None:
    from lightning.pytorch.utilities.combined_loader import CombinedLoader

    documents, labels = random_data(10)
    batches = Batches(arrays_of(documents), sp.csr_array(labels), 4, PAD, False, 1)
    assert sum(1 for _ in CombinedLoader(batches)) == 3


def test_padding_stays_below_five_percent() -> None:
    """Lengths as those of EURLEX57K cut at 512: most documents at the limit, the others anywhere below it."""
    lengths = np.random.default_rng(0).integers(40, 1000, 3000).clip(max=512)
    arrays = TokenArrays(np.ones(lengths.sum(), np.int32), np.concatenate([[0], np.cumsum(lengths)]))
    batches = Batches(arrays, sp.csr_array((3000, 2)), 8, PAD, shuffle=True, seed=0)
    positions = sum(batch["text"].numel() for batch in batches)
    assert 1 - lengths.sum() / positions < 0.05
