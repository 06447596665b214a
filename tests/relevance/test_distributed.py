from __future__ import annotations

import sys
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

from plant_plugin.config.options import RelevanceOptions
from plant_plugin.data.token_arrays import TokenArrays
from plant_plugin.errors import ConfigError, MissingExtraError
from plant_plugin.relevance import label_ridge
from plant_plugin.relevance.distributed import Shard, relevance_of_shards
from plant_plugin.relevance.linear import LinearModel
from plant_plugin.relevance.mutual_information import compute_relevance
from plant_plugin.relevance.ridge import RidgeOptions

SPECIAL, TYPES, LABELS = (0, 1), 40, 9
OPTIONS = [
    {},
    {"association": "any"},
    {"top": 5},
    {"measure": "term_frequency"},
]


@pytest.fixture
def workers_know_this_module(two_workers: None) -> None:
    from ray import cloudpickle

    cloudpickle.register_pickle_by_value(sys.modules[__name__])


def corpus(documents: int = 57) -> Shard:
    random = np.random.default_rng(0)
    lengths = random.integers(0, 20, documents)
    ids = (TYPES * random.random(lengths.sum()) ** 3).astype(np.int32)
    labels = random.random((documents, LABELS)) < 0.2
    labels[:, 3], labels[20:, 4] = False, False  # a label of nobody, one that only the first shards have
    return TokenArrays(ids, np.concatenate([[0], np.cumsum(lengths)])), sp.csr_array(labels.astype(np.float32))


def shard(start: int, stop: int) -> Shard:
    arrays, labels = corpus()
    offsets = arrays.offsets[start : stop + 1]
    return TokenArrays(arrays.ids[offsets[0] : offsets[-1]], offsets - offsets[0]), labels[start:stop]


@pytest.mark.integration
@pytest.mark.parametrize("changes", OPTIONS, ids=str)
@pytest.mark.parametrize("edges", [(0, 57), (0, 1, 1, 30, 44, 57)], ids=str)
def test_relevance_of_two_workers_is_equal_to_the_last_bit(
    workers_know_this_module: None, changes: dict, edges: tuple[int, ...]
) -> None:
    options, shards = RelevanceOptions(**changes), [partial(shard, *pair) for pair in pairwise(edges)]
    relevance = relevance_of_shards(shards, LABELS, TYPES, SPECIAL, options, blocks=len(edges)).matrix
    expected = compute_relevance(*corpus(), TYPES, SPECIAL, options).matrix
    assert expected.nnz > 20
    assert relevance.shape == expected.shape
    np.testing.assert_array_equal(relevance.indptr, expected.indptr)
    np.testing.assert_array_equal(relevance.indices, expected.indices)
    assert relevance.data.tobytes() == expected.data.tobytes()


@pytest.mark.integration
@pytest.mark.parametrize("above", [label_ridge.PRUNED_ABOVE, 10])
def test_planted_scores_of_two_workers_are_those_of_one_machine(
    two_workers: None, above: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    import ray

    random = np.random.default_rng(0)
    texts = [" ".join(f"word{word}" for word in random.integers(60, size=10)) for _ in range(200)]
    labels = sp.csr_array((random.random((200, 40)) < 0.06).astype(np.float32))
    options = RidgeOptions(model="label_ridge", top=30)
    monkeypatch.setattr(label_ridge, "CELLS", 300)  # ten labels, or seven documents, a block
    monkeypatch.setattr(label_ridge, "PRUNED_ABOVE", above)
    expected = LinearModel.fit(texts, labels, options).weights
    monkeypatch.setenv("RAY_ADDRESS", "auto")
    stored, put = [], ray.put
    monkeypatch.setattr(ray, "put", lambda value: stored.append(value) or put(value))
    weights = LinearModel.fit(texts, labels, options).weights
    assert expected.nnz > 500
    for name in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(weights, name), getattr(expected, name))
    assert len(stored) == 4 + 5 + 4  # what blocks of both models' labels share, and of documents


def test_no_shard_is_told_before_ray_starts() -> None:
    with pytest.raises(ConfigError, match="no shard"):
        relevance_of_shards([], LABELS, TYPES, SPECIAL, RelevanceOptions())


@pytest.mark.integration
def test_a_shard_of_other_labels_is_refused(workers_know_this_module: None) -> None:
    with pytest.raises(ValueError, match="a shard has 9 labels, expected 8"):
        relevance_of_shards([partial(shard, 0, 5)], 8, TYPES, SPECIAL, RelevanceOptions())


def test_without_ray_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r"plant-plugin\[ray\]"):
        relevance_of_shards([corpus], LABELS, TYPES, SPECIAL, RelevanceOptions())
