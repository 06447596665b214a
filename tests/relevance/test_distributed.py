from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

from plant_plugin.config.options import PlantedScoresOptions, RelevanceOptions
from plant_plugin.data.token_arrays import TokenArrays
from plant_plugin.errors import ConfigError, MissingExtraError
from plant_plugin.relevance import compute_relevance, label_ridge
from plant_plugin.relevance.distributed import Shard, relevance_of_shards
from plant_plugin.relevance.linear import LinearModel

SPECIAL, TYPES, LABELS = (0, 1), 40, 9
OPTIONS = [
    {},
    {"association": "any"},
    {"top": 5},
    {"measure": "term_frequency"},
]


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


def assert_equal_to_one_machine(options: RelevanceOptions, shards: list, blocks: int = 4) -> None:
    found = relevance_of_shards(shards, LABELS, TYPES, SPECIAL, options, blocks=blocks).matrix
    expected = compute_relevance(*corpus(), TYPES, SPECIAL, options).matrix
    assert expected.nnz > 20
    assert found.shape == expected.shape
    np.testing.assert_array_equal(found.indptr, expected.indptr)
    np.testing.assert_array_equal(found.indices, expected.indices)
    assert found.data.tobytes() == expected.data.tobytes()


@pytest.mark.parametrize("changes", OPTIONS, ids=str)
@pytest.mark.parametrize("edges", [(0, 57), (0, 20, 57), (0, 1, 1, 30, 44, 57)], ids=str)
def test_equal_to_the_last_bit(changes: dict, edges: tuple[int, ...]) -> None:
    dask = pytest.importorskip("dask", reason="needs the extra `distributed`")
    shards = [partial(shard, *pair) for pair in pairwise(edges)]
    with dask.config.set(scheduler="synchronous"):
        assert_equal_to_one_machine(RelevanceOptions(**changes), shards, blocks=len(edges))


@pytest.mark.integration
def test_two_workers_that_are_processes_of_their_own() -> None:
    distributed = pytest.importorskip("distributed", reason="needs the extra `distributed`")
    shards = [partial(shard, start, min(start + 10, 57)) for start in range(0, 57, 10)]
    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None)
    with cluster, distributed.Client(cluster) as client:
        assert len(client.scheduler_info()["workers"]) == 2
        for changes in OPTIONS:
            assert_equal_to_one_machine(RelevanceOptions(**changes), shards)


@pytest.mark.integration
@pytest.mark.parametrize("above", [label_ridge.PRUNED_ABOVE, 10])
def test_planted_scores_of_two_workers_are_those_of_one_machine(above: int, monkeypatch: pytest.MonkeyPatch) -> None:
    distributed = pytest.importorskip("distributed", reason="needs the extra `distributed`")
    random = np.random.default_rng(0)
    texts = [" ".join(f"word{word}" for word in random.integers(60, size=10)) for _ in range(200)]
    labels = sp.csr_array((random.random((200, 40)) < 0.06).astype(np.float32))
    options = PlantedScoresOptions(model="label_ridge", top=30)
    monkeypatch.setattr(label_ridge, "CELLS", 300)  # ten labels, or seven documents, a block
    monkeypatch.setattr(label_ridge, "PRUNED_ABOVE", above)
    expected = LinearModel.fit(texts, labels, options).weights
    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None)
    with cluster, distributed.Client(cluster) as client:
        found = LinearModel.fit(texts, labels, replace(options, dask=cluster.scheduler_address)).weights
        ran = client.run(lambda dask_worker: len(dask_worker.state.log), nanny=False)
    assert expected.nnz > 500
    for name in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    assert len(ran) == 2
    assert all(ran.values())


def test_a_scheduler_that_does_not_answer_is_told() -> None:
    pytest.importorskip("distributed", reason="needs the extra `distributed`")
    dask = pytest.importorskip("dask")
    options = PlantedScoresOptions(model="label_ridge", min_documents=1, dask="tcp://127.0.0.1:9")
    labels = sp.csr_array(np.eye(2, dtype=np.float32))
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "100ms"}),
        pytest.raises(ConfigError, match="no Dask scheduler"),
    ):
        LinearModel.fit(["alpha", "beta"], labels, options)


def test_refusals(monkeypatch: pytest.MonkeyPatch) -> None:
    dask = pytest.importorskip("dask", reason="needs the extra `distributed`")
    with pytest.raises(ConfigError, match="no shard"):
        relevance_of_shards([], LABELS, TYPES, SPECIAL, RelevanceOptions())
    with dask.config.set(scheduler="synchronous"), pytest.raises(ValueError, match="a shard has 9 labels, expected 8"):
        relevance_of_shards([partial(shard, 0, 5)], 8, TYPES, SPECIAL, RelevanceOptions())
    monkeypatch.setitem(sys.modules, "dask", None)
    with pytest.raises(MissingExtraError, match=r"plant-plugin\[distributed\]"):
        relevance_of_shards([corpus], LABELS, TYPES, SPECIAL, RelevanceOptions())
