"""Forward and backward pass of the label attention, block by block; :mod:`.label_attention` calls both.

Shape key: as there, and **C** columns: the positions of a few documents, one after the other · **l** labels of a block.

Order of work: a few documents, then blocks of labels, then heads. Each product is then (l, D) × (D, C) with both
operands and the (l, C) result in a core's cache, and the relevance of a block is looked up once for all heads. On a CPU
each thread has labels of its own, and its products and passes run on one core: they are too small to be shared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from plant_plugin.networks.kernels.attention_rows import attend, turn_into_gradients
from plant_plugin.networks.kernels.block_size import labels_at_once
from plant_plugin.networks.kernels.passes import Context, Result, add_product, on_threads, shares
from plant_plugin.networks.kernels.prior import BlockEntries, Places, PriorLookup, entries_of, room_for

# Columns worked on at once on a CPU: one long document or a few short ones. Measured with 8 heads of width 32: 119
# GFLOP/s a core in the product that gives the queries' gradient, 32 with 2048 columns of all heads at once.
CHUNK_COLUMNS = 512
# Numbers of the keys of chunks between which threads wait for each other; they hold as many gradients each.
CHUNKS_ELEMENTS = 2**22
# Scores (l, C) that a thread should have before another one pays.
ELEMENTS_OF_A_THREAD = 2**20


class Operands(NamedTuple):
    """Tensors and settings that forward and backward compute from, of documents that share a prior."""

    queries: Tensor  # (A, L, D)
    keys: Tensor  # (B, T, A, D)
    values: Tensor
    outputs: Tensor  # (A, L, D)
    strength: Tensor | None  # (A, L)
    mask: Tensor  # (B, T)
    prior: PriorLookup | None
    dtype: torch.dtype  # of the products' operands
    block_elements: int


# Priors without their tables, and the last fields of Operands.
Rest: TypeAlias = tuple[list[PriorLookup | None], torch.dtype, int]


class _Chunk(NamedTuple):
    """A few documents, cut to the longest of them."""

    documents: slice
    positions: int
    keys: Tensor  # (A, D, C)
    values: Tensor
    bias: Tensor | None  # (documents, positions) 0 or −∞; None where nothing is padded
    columns: Sequence[Tensor] = ()  # each (C,): of the prior's table, and a second one where anything is marked
    places: Places | None = None  # the same the other way round, where the prior is sparse

    def by_document(self, block: Tensor) -> Tensor:
        """Return ``block`` (l, C) as (l, documents, positions)."""
        return block.view(len(block), -1, self.positions)


def _chunk(operands: Operands, part: slice) -> _Chunk:
    on_cpu = operands.mask.device.type == "cpu"
    mask, bias = operands.mask[part], None
    if on_cpu:  # elsewhere to look at the mask would make the device wait
        used = mask.any(dim=0).nonzero()
        mask = mask[:, : int(used[-1]) + 1 if len(used) else 1]
    if not on_cpu or not bool(mask.all()):
        bias = torch.zeros_like(mask, dtype=operands.queries.dtype).masked_fill_(~mask, float("-inf"))
    keys, values = (
        states[part, : mask.shape[1]].permute(2, 3, 0, 1).flatten(2).to(operands.dtype).contiguous()
        for states in (operands.keys, operands.values)
    )
    chunk = _Chunk(part, mask.shape[1], keys, values, bias)
    if operands.prior is None:
        return chunk
    columns = [table_columns[part, : mask.shape[1]].flatten() for table_columns in operands.prior.all_columns()]
    entries = operands.prior.entries
    if entries is None:
        return chunk._replace(columns=columns)
    places = Places.of(*(flat.numpy() for flat in columns), size=entries.by_type.shape[1])
    return chunk._replace(columns=columns, places=places)


class _Block(NamedTuple):
    """Contents of the buffers, for one head of a block of labels."""

    labels: slice
    head: int
    queries: Tensor  # (l, D), narrow
    outputs: Tensor
    scores: Tensor  # (l, C), prior included, padding not
    contributions: Tensor  # (l, C)
    relevance: Tensor | BlockEntries | None


class _Worker:
    """Goes through the blocks of some labels: buffers that are allocated once, narrow copies of what labels bring."""

    def __init__(self, operands: Operands, labels: slice) -> None:
        self.operands, self.wide, self.labels = operands, operands.queries.dtype, labels
        self.heads = operands.queries.shape[0]
        self.queries, self.outputs = (
            part[:, labels].to(operands.dtype) for part in (operands.queries, operands.outputs)
        )
        self._buffers: dict[str, Tensor] = {}
        self._room: BlockEntries | None = None

    def buffer(self, name: str, labels: int, columns: int, dtype: torch.dtype | None = None) -> Tensor:
        """Return contiguous memory (l, C), the same at each call."""
        memory = self._buffers.get(name)
        if memory is None or memory.numel() < labels * columns:
            memory = self._buffers[name] = self.operands.queries.new_empty(labels * columns, dtype=dtype or self.wide)
        return memory[: labels * columns].view(labels, columns)

    def product(self, name: str, left: Tensor, right: Tensor) -> Tensor:
        """Return ``left`` @ ``right`` in the wide type, whatever the operands' type is."""
        product = self.buffer(name, left.shape[0], right.shape[1])
        if left.dtype == self.wide:
            return torch.mm(left, right, out=product)
        narrow = self.buffer("narrow", product.shape[0], product.shape[1], left.dtype)
        return product.copy_(torch.mm(left, right, out=narrow))

    def narrow(self, block: Tensor) -> Tensor:
        """Return the block as an operand of a product."""
        if block.dtype == self.operands.dtype:
            return block
        return self.buffer("narrow", block.shape[0], block.shape[1], self.operands.dtype).copy_(block)

    def relevance(self, chunk: _Chunk, labels: slice) -> Tensor | BlockEntries | None:
        """Look up the prior of a block, once for all heads: dense (l, C), or its entries."""
        prior = self.operands.prior
        if prior is None:
            return None
        if prior.entries is not None and chunk.places is not None:
            size = labels.stop - labels.start, len(chunk.places.places)
            if self._room is None or len(self._room.rows) < size[0] * size[1]:
                self._room = room_for(prior.entries, *size)
            return entries_of(prior.entries, chunk.places, labels, self._room)
        table, columns = prior.dense()[labels], chunk.columns
        relevance = self.buffer("relevance", len(table), len(columns[0]))
        torch.index_select(table, 1, columns[0], out=relevance)
        return relevance if len(columns) == 1 else relevance.add_(table[:, columns[1]])

    def blocks(self, chunk: _Chunk) -> Iterator[_Block]:
        """Yield one block of labels after the other, and in it one head after the other."""
        operands = self.operands
        size = labels_at_once(operands.block_elements, chunk.keys)
        for start in range(self.labels.start, self.labels.stop, size):
            labels = slice(start, min(start + size, self.labels.stop))
            relevance = self.relevance(chunk, labels)
            rows = slice(labels.start - self.labels.start, labels.stop - self.labels.start)
            for head in range(self.heads):
                queries, outputs = self.queries[head, rows], self.outputs[head, rows]
                scores = self.product("scores", queries, chunk.keys[head])
                if relevance is not None and operands.strength is not None:
                    strength = operands.strength[head, labels].detach()
                    if isinstance(relevance, BlockEntries):
                        from plant_plugin.networks.kernels.compiled import add_prior

                        add_prior(scores.numpy(), strength.numpy(), *relevance)
                    else:
                        scores.addcmul_(strength[:, None], relevance)
                contributions = self.product("contributions", outputs, chunk.values[head])
                yield _Block(labels, head, queries, outputs, scores, contributions, relevance)


def _results(
    operands: Operands, task: Callable[[_Worker, _Chunk], Result]
) -> Iterator[tuple[list[_Chunk], list[list[Result]]]]:
    """Let workers, each with labels of its own, do a task for all documents.

    The threads wait for each other after each list of chunks. Results come in the order of the labels, then of the
    chunks.
    """
    on_cpu, labels = operands.mask.device.type == "cpu", operands.queries.shape[1]
    batch, positions = operands.mask.shape
    enough = batch * positions * labels * operands.queries.shape[0] // ELEMENTS_OF_A_THREAD
    workers = [_Worker(operands, part) for part in shares(labels, min(labels, enough) if on_cpu else 1)]
    documents = max(1, CHUNK_COLUMNS // max(1, positions) if on_cpu else batch)
    parts = [slice(start, min(start + documents, batch)) for start in range(0, batch, documents)]
    at_once = max(1, CHUNKS_ELEMENTS // max(1, documents * operands.keys[0].numel())) if batch else 1
    chunks: list[_Chunk] = []

    def work(worker: _Worker) -> list[Result]:
        return [task(worker, chunk) for chunk in chunks]

    for first in range(0, len(parts), at_once):
        chunks = on_threads(partial(_chunk, operands), parts[first : first + at_once], len(workers))
        yield chunks, on_threads(work, workers, len(workers))


class LabelAttention(torch.autograd.Function):
    """Logits (B, L) of groups of documents, each group with labels and a prior of its own; threads share the groups.

    Takes the fields of :class:`Operands`: queries and outputs (G, A, L, D), strength (G, A, L), and a list of priors.
    """

    @staticmethod
    def forward(ctx: Context[Rest], *arguments: Any) -> Tensor:
        """Take the softmax over positions of each document, then the weighted sum of the contributions."""
        *tensors, priors, dtype, block_elements = arguments
        groups = _groups(*arguments)
        results = on_threads(attended_values, groups, len(groups))
        # The backward pass frees saved tensors; an attribute of ctx lives as long as the loss, and a table is large.
        tables = [None if prior is None else prior.table for prior in priors]
        ctx.save_for_backward(*tensors, *tables, *(part for both in results for part in both))
        bare = [None if prior is None else prior._replace(table=None) for prior in priors]
        ctx.rest = bare, dtype, block_elements
        return torch.cat([attended.sum(dim=0).t() for attended, _ in results])

    @staticmethod
    @once_differentiable
    def backward(ctx: Context[Rest], *arriving: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients of queries, keys, values, outputs and strength, from weights made anew."""
        bare, *rest = ctx.rest
        (*tensors, mask), others = ctx.saved_tensors[:6], ctx.saved_tensors[6:]
        tables, saved = others[: len(bare)], others[len(bare) :]
        pairs = zip(bare, tables, strict=True)
        priors = [None if prior is None else prior._replace(table=table) for prior, table in pairs]
        gradients = [None if part is None else torch.zeros_like(part) for part in tensors]
        groups, totals = (_groups(*parts, mask, priors, *rest) for parts in (tensors, gradients))
        pulls = arriving[0].to(tensors[0].dtype).chunk(len(groups))
        tasks = list(zip(groups, totals, saved[::2], saved[1::2], pulls, strict=True))
        with torch.autocast(device_type=mask.device.type, enabled=False):
            on_threads(lambda task: add_gradients(*task), tasks, len(groups))
        return (*gradients, None, None, None, None)


def _groups(*arguments: Any) -> list[Operands]:
    """Cut the arguments of :class:`LabelAttention` into views, one of each group."""
    queries, keys, values, outputs, strength, mask, priors, *rest = arguments
    size, groups = len(mask) // len(priors), []
    for group, prior in enumerate(priors):
        documents = slice(group * size, (group + 1) * size)
        beta = None if strength is None else strength[group]
        states = keys[documents], values[documents]
        groups.append(Operands(queries[group], *states, outputs[group], beta, mask[documents], prior, *rest))
    return groups


def attended_values(operands: Operands) -> tuple[Tensor, Tensor]:
    """Return the weighted sums (A, L, B) of each head, label and document, and the logarithms of the softmax's sums."""
    attended = operands.queries.new_empty(*operands.queries.shape[:2], len(operands.mask))
    normaliser = torch.empty_like(attended)

    def task(worker: _Worker, chunk: _Chunk) -> None:
        for block in worker.blocks(chunk):
            at = (block.head, block.labels, chunk.documents)
            scores, contributions = chunk.by_document(block.scores), chunk.by_document(block.contributions)
            attend(scores, contributions, chunk.bias, attended[at], normaliser[at])

    for _ in _results(operands, task):
        pass
    return attended, normaliser


def add_gradients(operands: Operands, totals: Operands, attended: Tensor, normaliser: Tensor, arriving: Tensor) -> None:
    """Add the gradients of the operands' first five to zeros in their places; ``arriving`` is (B, L)."""
    to_queries, to_keys, to_values, to_outputs, to_strength = totals[:5]
    by_label = arriving.t()

    def task(worker: _Worker, chunk: _Chunk) -> tuple[Tensor, Tensor]:
        chunk_keys, chunk_values = (torch.zeros_like(part, dtype=worker.wide) for part in (chunk.keys, chunk.values))
        for block in worker.blocks(chunk):
            head, labels = block.head, block.labels
            at = (head, labels, chunk.documents)
            scores, contributions = chunk.by_document(block.scores), chunk.by_document(block.contributions)
            pull = by_label[labels, chunk.documents]
            turn_into_gradients(scores, contributions, chunk.bias, attended[at], normaliser[at], pull)
            to_contributions, to_scores = block.scores, block.contributions
            if to_strength is not None and block.relevance is not None:
                if isinstance(block.relevance, BlockEntries):
                    from plant_plugin.networks.kernels.compiled import add_strength_gradient

                    add_strength_gradient(to_strength[head, labels].numpy(), to_scores.numpy(), *block.relevance)
                else:
                    to_strength[head, labels] += torch.linalg.vecdot(to_scores, block.relevance)
            to_contributions = worker.narrow(to_contributions)
            add_product(to_outputs[head, labels], to_contributions, chunk.values[head].t())
            add_product(chunk_values[head], block.outputs.t(), to_contributions)
            to_scores = worker.narrow(to_scores)
            add_product(to_queries[head, labels], to_scores, chunk.keys[head].t())
            add_product(chunk_keys[head], block.queries.t(), to_scores)
        return chunk_keys, chunk_values

    for chunks, of_workers in _results(operands, task):
        for chunk, parts in zip(chunks, zip(*of_workers, strict=True), strict=True):  # of each worker
            for total, worker_parts in zip((to_keys, to_values), zip(*parts, strict=True), strict=True):
                shaped = sum(worker_parts[1:], worker_parts[0]).unflatten(2, (-1, chunk.positions)).permute(2, 3, 0, 1)
                total[chunk.documents, : chunk.positions] = shaped
