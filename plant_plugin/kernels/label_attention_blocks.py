"""Forward and backward pass of the label attention, block by block; :mod:`.label_attention` is the way in.

Shape key: as there, and **C** columns: the positions of a few documents, one after the other · **l** labels of a block.

Order of work: a few documents, then blocks of labels, then heads. Each product is then (l, D) × (D, C) with both
operands and the (l, C) result in a core's cache, and the relevance of a block is looked up once for all heads.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from plant_plugin.kernels.sparse_prior import (
    BlockEntries,
    Places,
    SparseTable,
    add_prior,
    add_strength_gradient,
    entries_of,
)

# Elements of one (l, C) buffer. On a CPU 2 MiB in float32 (measured best of 0.5, 1, 2); a GPU wants
# large products.
BLOCK_ELEMENTS, BLOCK_ELEMENTS_GPU = 2**19, 2**26
# Columns worked on at once on a CPU: one long document or a few short ones. Measured with 8 heads of width 32: 119
# GFLOP/s a core in the product that gives the queries' gradient, 32 with 2048 columns of all heads at once.
CHUNK_COLUMNS = 512
# Scores are cut off this far below the highest: e^-80 adds nothing to a float32 sum, but a vectorised exp of −∞ or of
# anything that underflows takes a slow path (measured: 5 to 30 ns an element instead of 0.4).
LOWEST_EXPONENT = -80.0


class Operands(NamedTuple):
    """What forward and backward compute from."""

    queries: Tensor  # (A, L, D)
    keys: Tensor  # (B, T, A, D)
    values: Tensor
    outputs: Tensor  # (A, L, D)
    strength: Tensor | None  # (A, L)
    mask: Tensor  # (B, T)
    table: Tensor | None  # (L, U)
    columns: Tensor | None  # (B, T)
    dtype: torch.dtype  # of the products' operands
    block_elements: int
    entries: SparseTable | None = None  # the table where it is not zero; on CPUs, in place of the dense one


class _Chunk(NamedTuple):
    """A few documents, cut to the longest of them."""

    documents: slice
    positions: int
    keys: Tensor  # (A, D, C)
    values: Tensor
    bias: Tensor | None  # (documents, positions) 0 or −∞; None where nothing is padded
    columns: Tensor | None  # (C,)
    places: Places | None  # the same the other way round, where the prior is sparse

    def by_document(self, block: Tensor) -> Tensor:
        """(l, C) as (l, documents, positions)."""
        return block.view(len(block), -1, self.positions)


def _chunks(operands: Operands) -> Iterator[_Chunk]:
    batch, positions = operands.mask.shape
    on_cpu = operands.mask.device.type == "cpu"
    count = max(1, CHUNK_COLUMNS // max(1, positions)) if on_cpu else batch
    for start in range(0, batch, count):
        part = slice(start, min(start + count, batch))
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
        columns = None if operands.columns is None else operands.columns[part, : mask.shape[1]].flatten()
        places = None
        if columns is not None and operands.entries is not None:
            places = Places.of(columns.numpy(), operands.entries.size)
        yield _Chunk(part, mask.shape[1], keys, values, bias, columns, places)


class _Pass:
    """One pass over all blocks: buffers that are allocated once, and the narrow copies of what labels bring."""

    def __init__(self, operands: Operands) -> None:
        self.operands, self.wide = operands, operands.queries.dtype
        self.heads, self.labels, _ = operands.queries.shape
        self.queries, self.outputs = operands.queries.to(operands.dtype), operands.outputs.to(operands.dtype)
        self._buffers: dict[str, Tensor] = {}

    def buffer(self, name: str, labels: int, columns: int, dtype: torch.dtype | None = None) -> Tensor:
        """Contiguous memory (l, C)."""
        kept = self._buffers.get(name)
        if kept is None or kept.numel() < labels * columns:
            kept = self._buffers[name] = self.operands.queries.new_empty(labels * columns, dtype=dtype or self.wide)
        return kept[: labels * columns].view(labels, columns)

    def product(self, name: str, left: Tensor, right: Tensor) -> Tensor:
        """Product ``left`` @ ``right`` in the wide type, whatever the operands' type is."""
        found = self.buffer(name, left.shape[0], right.shape[1])
        if left.dtype == self.wide:
            return torch.mm(left, right, out=found)
        narrow = self.buffer("narrow", found.shape[0], found.shape[1], left.dtype)
        return found.copy_(torch.mm(left, right, out=narrow))

    def narrow(self, name: str, block: Tensor) -> Tensor:
        """The block as an operand of a product."""
        if block.dtype == self.operands.dtype:
            return block
        return self.buffer(name, block.shape[0], block.shape[1], self.operands.dtype).copy_(block)

    def relevance(self, chunk: _Chunk, part: slice) -> Tensor | BlockEntries | None:
        """The prior of a block: dense (l, C), or its entries; looked up once for all heads."""
        table, entries = self.operands.table, self.operands.entries
        if table is None or chunk.columns is None:
            return None
        if entries is not None and chunk.places is not None:
            return entries_of(entries, chunk.places, part, len(chunk.columns))
        relevance = self.buffer("relevance", part.stop - part.start, len(chunk.columns))
        return torch.index_select(table[part], 1, chunk.columns, out=relevance)

    def blocks(self, chunk: _Chunk) -> Iterator[tuple[slice, int, Tensor, Tensor, Tensor | BlockEntries | None]]:
        """Labels, head, scores (l, documents, positions) with prior and padding, contributions, relevance."""
        operands, size = self.operands, max(1, self.operands.block_elements // chunk.keys.shape[2])
        for start in range(0, self.labels, size):
            part = slice(start, min(start + size, self.labels))
            relevance = self.relevance(chunk, part)
            for head in range(self.heads):
                scores = self.product("scores", self.queries[head, part], chunk.keys[head])
                if relevance is not None and operands.strength is not None:
                    strength = operands.strength[head, part].detach()
                    if isinstance(relevance, BlockEntries):
                        add_prior(scores.numpy(), strength.numpy(), *relevance)
                    else:
                        scores.addcmul_(strength[:, None], relevance)
                contributions = self.product("contributions", self.outputs[head, part], chunk.values[head])
                by_document = chunk.by_document(scores)
                if chunk.bias is not None:
                    by_document.add_(chunk.bias)
                yield part, head, by_document, chunk.by_document(contributions), relevance


class LabelAttention(torch.autograd.Function):
    """Takes the fields of :class:`Operands`, gives logits (B, L); the backward pass makes the weights anew."""

    @staticmethod
    def forward(ctx: Any, *arguments: Any) -> Tensor:
        """Softmax over positions of each document, then the weighted sum of the contributions."""
        operands = Operands(*arguments)
        work = _Pass(operands)
        attended = operands.queries.new_empty(work.heads, work.labels, len(operands.mask))
        normaliser = torch.empty_like(attended)
        for chunk in _chunks(operands):
            for labels, head, scores, contributions, _ in work.blocks(chunk):
                highest = scores.amax(dim=-1, keepdim=True)
                weights = scores.sub_(highest).clamp_(min=LOWEST_EXPONENT).exp_()
                total = weights.sum(dim=-1)
                attended[head, labels, chunk.documents] = contributions.mul_(weights).sum(dim=-1) / total
                normaliser[head, labels, chunk.documents] = highest.squeeze(-1) + total.log()
        ctx.save_for_backward(*operands[:8], attended, normaliser)
        ctx.rest = operands[8:]
        return attended.sum(dim=0).t().contiguous()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *arriving: Tensor) -> Any:
        """Gradients of queries, keys, values, outputs and strength."""
        *tensors, attended, normaliser = ctx.saved_tensors
        operands = Operands(*tensors, *ctx.rest)
        with torch.autocast(device_type=operands.mask.device.type, enabled=False):
            found = _backward(operands, attended, normaliser, arriving[0].t().to(operands.queries.dtype))
        return (*found, None, None, None, None, None, None)


def _backward(
    operands: Operands, attended: Tensor, normaliser: Tensor, arriving: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor | None]:
    """As :meth:`LabelAttention.backward`; ``arriving`` is (L, B)."""
    work = _Pass(operands)
    to_queries, to_outputs = torch.zeros_like(operands.queries), torch.zeros_like(operands.outputs)
    to_keys, to_values = torch.zeros_like(operands.keys), torch.zeros_like(operands.values)
    to_strength = None if operands.strength is None else torch.zeros_like(operands.strength)
    for chunk in _chunks(operands):
        chunk_keys, chunk_values = (torch.zeros_like(part, dtype=work.wide) for part in (chunk.keys, chunk.values))
        for labels, head, scores, contributions, relevance in work.blocks(chunk):
            at = (head, labels, chunk.documents)
            weights = scores.sub_(normaliser[at][..., None]).clamp_(min=LOWEST_EXPONENT).exp_()
            weights.mul_(arriving[labels, chunk.documents, None])  # what reaches the contributions
            to_scores = contributions.sub_(attended[at][..., None]).mul_(weights).flatten(1)
            if to_strength is not None and relevance is not None:
                if isinstance(relevance, BlockEntries):
                    add_strength_gradient(to_strength[head, labels].numpy(), to_scores.numpy(), *relevance)
                else:
                    to_strength[head, labels] += torch.linalg.vecdot(to_scores, relevance)
            to_contributions = work.narrow("narrow", weights.flatten(1))
            _add_product(to_outputs[head, labels], to_contributions, chunk.values[head].t())
            _add_product(chunk_values[head], work.outputs[head, labels].t(), to_contributions)
            to_scores = work.narrow("narrow", to_scores)
            _add_product(to_queries[head, labels], to_scores, chunk.keys[head].t())
            _add_product(chunk_keys[head], work.queries[head, labels].t(), to_scores)
        for total, part in ((to_keys, chunk_keys), (to_values, chunk_values)):
            shaped = part.unflatten(2, (-1, chunk.positions)).permute(2, 3, 0, 1)
            total[chunk.documents, : chunk.positions] = shaped
    return to_queries, to_keys, to_values, to_outputs, to_strength


def _add_product(total: Tensor, left: Tensor, right: Tensor) -> None:
    """Add ``left`` @ ``right`` to ``total``; the running sum stays wide."""
    if total.dtype == left.dtype:
        total.addmm_(left, right)
    else:
        total.add_(torch.mm(left, right))
