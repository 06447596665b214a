"""Relevance and planted scores by the workers of a Ray cluster (extra ``ray``).

Both equal those of one machine to the last bit. The relevance is of documents that lie apart: counts of shards, added
up, then the values of all labels. Every count is a whole number, and sums of whole numbers do not depend on their
order. Planted scores are solved label by label, and no label's depend on another's: workers that hold all documents'
terms share the labels.

Shapes: N documents over all shards, L labels, V token types.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import TypeVar

import numpy as np
import scipy.sparse as sp

from plant_plugin.config.options import RelevanceOptions
from plant_plugin.data.token_arrays import TokenArrays
from plant_plugin.errors import ConfigError
from plant_plugin.relevance import mutual_information as single
from plant_plugin.relevance.cluster import cluster
from plant_plugin.relevance.label_ridge import solve_by_label
from plant_plugin.relevance.mutual_information import Margins, Relevance
from plant_plugin.relevance.ridge import RidgeOptions

Shard = tuple[TokenArrays, sp.csr_array]
Part = TypeVar("Part")
BLOCKS = 16  # of labels: each is added up and turned into values by itself


def relevance_of_shards(
    shards: Sequence[Callable[[], Shard]],
    num_labels: int,
    vocabulary_size: int,
    special_ids: Iterable[int],
    options: RelevanceOptions,
    *,
    blocks: int = BLOCKS,
) -> Relevance:
    """Compute the relevance of every token type for every label from document shards, on the workers of a cluster.

    The cluster is that of :func:`cluster` without an address. Gives what :func:`.compute_relevance` gives for all
    documents together, whose other arguments it has.

    A shard gives token ids of some of the training documents and their labels (n, L), where it is called: on a worker.
    All shards have the same labels and the same vocabulary. Give functions that read a file, not such that hold the
    documents: they travel to the worker. ``blocks`` are runs of labels whose counts are added up apart; more need less
    memory a worker.

    Raises:
        MissingExtraError: Ray is not installed.
        ConfigError: No shard, or options that do not fit each other.
        ValueError: A shard of another number of labels, or whose arrays differ in length.
    """
    if not shards:
        raise ConfigError("there is no shard to count", where="shards", fix="give at least one")
    special = tuple(special_ids)
    edges = np.linspace(0, num_labels, min(blocks, num_labels) + 1).astype(int)
    parts = [slice(int(start), int(stop)) for start, stop in pairwise(edges)]
    with cluster():
        import ray

        count, add = ray.remote(count_shard).options(num_returns=1 + len(parts)), ray.remote(_added_tables).remote
        counts = [count.remote(shard, num_labels, vocabulary_size, special, options, parts) for shard in shards]
        of_shards, *tables = zip(*counts, strict=True)
        margins = _tree(ray.remote(_added_margins).remote, of_shards)
        finish = ray.remote(single.values_of).remote
        values = ray.get(
            [finish(_tree(add, table), part, margins, options) for table, part in zip(tables, parts, strict=True)]
        )
    return Relevance(sp.csr_array(sp.vstack(values, format="csr")))


def count_shard(
    shard: Callable[[], Shard],
    num_labels: int,
    vocabulary_size: int,
    special_ids: tuple[int, ...],
    options: RelevanceOptions,
    parts: list[slice],
) -> tuple[Margins | sp.csr_array, ...]:
    """Read a shard and count it: its margins, then the counts of each part of the labels."""
    arrays, labels = shard()
    if labels.shape[1] != num_labels:
        raise ValueError(f"a shard has {labels.shape[1]} labels, expected {num_labels}")
    counts = single.count_documents(arrays, labels, vocabulary_size, special_ids, options)
    return counts.margins, *(counts.table(part) for part in parts)


def solve_on_cluster(features: sp.csr_array, targets: sp.csr_array, options: RidgeOptions) -> sp.csr_array:
    """Compute what :func:`.solve_by_label` gives, its labels shared out among the workers of a cluster.

    Raises:
        MissingExtraError: Ray is not installed.
        PlantError: No cluster answers.
    """
    with cluster():
        import ray

        def on_workers(
            work: Callable[..., Part], blocks: list[tuple[int, int]], shared: tuple[object, ...]
        ) -> list[Part]:
            task, stored = ray.remote(work), [ray.put(value) for value in shared]
            results: list[Part] = ray.get([task.remote(*block, *stored) for block in blocks])
            return results

        return solve_by_label(features, targets, options, on_workers)


def _tree(add: Callable[[Part, Part], Part], parts: Sequence[Part]) -> Part:
    """Add up pairs of pairs, so that no task holds more than two parts."""
    while len(parts) > 1:
        pairs = [parts[place : place + 2] for place in range(0, len(parts), 2)]
        parts = [add(*pair) if len(pair) == 2 else pair[0] for pair in pairs]
    return parts[0]


def _added_margins(left: Margins, right: Margins) -> Margins:
    return Margins(*map(operator.add, left, right))


def _added_tables(left: sp.csr_array, right: sp.csr_array) -> sp.csr_array:
    return left + right
