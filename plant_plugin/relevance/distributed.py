"""Relevance and planted scores on several machines, by Dask (extra ``distributed``), equal to one's to the last bit.

The relevance is of documents that lie apart: counts of shards, added up, then the values of all labels. Every count is
a whole number, and sums of whole numbers do not depend on their order. Planted scores are solved label by label, and
no label's depend on another's: workers that hold all documents' terms share the labels.

Shapes: N documents over all shards, L labels, V token types.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import TypeVar

import numpy as np
import scipy.sparse as sp

from plant_plugin.config.options import PlantedScoresOptions, RelevanceOptions
from plant_plugin.data.token_arrays import TokenArrays
from plant_plugin.errors import ConfigError, needs_extra
from plant_plugin.relevance import mutual_information as single
from plant_plugin.relevance.label_ridge import solve_by_label
from plant_plugin.relevance.mutual_information import Margins, Relevance

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
    """Relevance of every token type for every label from document shards, on whatever scheduler Dask is set to use.

    Open a ``distributed.Client`` before to use several machines; without one Dask takes this machine's threads. Gives
    what :func:`.compute_relevance` gives for all documents together, whose other arguments it has.

    A shard gives token ids of some of the training documents and their labels (n, L), where it is called: on a worker.
    All shards have the same labels and the same vocabulary. Give functions that read a file, not such that hold the
    documents: they travel to the worker. ``blocks`` are runs of labels whose counts are added up apart; more need less
    memory a worker.

    Raises:
        MissingExtraError: Dask is not installed.
        ConfigError: No shard, or options that do not fit each other.
        ValueError: A shard of another number of labels, or whose arrays differ in length.
    """
    with needs_extra("distributed", "relevance over several machines needs Dask"):
        import dask
    if not shards:
        raise ConfigError("there is no shard to count", where="shards", fix="give at least one")
    special = tuple(special_ids)
    edges = np.linspace(0, num_labels, min(blocks, num_labels) + 1).astype(int)
    parts = [slice(int(start), int(stop)) for start, stop in pairwise(edges)]
    count, add, merge, finish = (
        dask.delayed(function, pure=False) for function in (count_shard, _added_margins, operator.add, single.values_of)
    )
    counted = [count(shard, num_labels, vocabulary_size, special, options, parts) for shard in shards]
    margins = _tree(add, [one[0] for one in counted])
    tables = [_tree(merge, [one[1][number] for one in counted]) for number in range(len(parts))]
    values = dask.compute(*(finish(table, part, margins, options) for table, part in zip(tables, parts, strict=True)))
    return Relevance(sp.csr_array(sp.vstack(values, format="csr")))


def count_shard(
    shard: Callable[[], Shard],
    num_labels: int,
    vocabulary_size: int,
    special_ids: tuple[int, ...],
    options: RelevanceOptions,
    parts: list[slice],
) -> tuple[Margins, list[sp.csr_array]]:
    """Read a shard and count it; see :func:`relevance_of_shards`."""
    arrays, labels = shard()
    if labels.shape[1] != num_labels:
        raise ValueError(f"a shard has {labels.shape[1]} labels, expected {num_labels}")
    counts = single.count_documents(arrays, labels, vocabulary_size, special_ids, options)
    return counts.margins, [counts.table(part) for part in parts]


def solve_on_workers(
    address: str, features: sp.csr_array, targets: sp.csr_array, options: PlantedScoresOptions
) -> sp.csr_array:
    """What :func:`.solve_by_label` gives, its labels shared out among the workers of a Dask scheduler.

    Raises:
        MissingExtraError: Dask is not installed.
        ConfigError: No scheduler answers at the address.
    """
    with needs_extra("distributed", "planted scores over several machines need Dask"):
        from distributed import Client
    try:
        client = Client(address)
    except (OSError, ValueError) as error:
        fix = "start `dask scheduler` there and a `dask worker` on each machine, or leave the key out"
        what = f"no Dask scheduler answers at {address} ({type(error).__name__})"
        raise ConfigError(what, where="planted_scores.dask", fix=fix) from error

    def on_workers(work: Callable[..., Part], blocks: list[tuple[int, int]], shared: tuple[object, ...]) -> list[Part]:
        given = client.scatter(list(shared), broadcast=True, hash=False)  # or equal data may be lost between steps
        found: list[Part] = client.gather([client.submit(work, *block, *given, pure=False) for block in blocks])
        return found

    with client:
        return solve_by_label(features, targets, options, on_workers)


def _tree(add: Callable[[Part, Part], Part], parts: list[Part]) -> Part:
    """The sum in pairs of pairs: no task holds more than two parts."""
    while len(parts) > 1:
        pairs = [parts[place : place + 2] for place in range(0, len(parts), 2)]
        parts = [add(*pair) if len(pair) == 2 else pair[0] for pair in pairs]
    return parts[0]


def _added_margins(left: Margins, right: Margins) -> Margins:
    return Margins(*map(operator.add, left, right))
