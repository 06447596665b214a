# mypy: allow-untyped-defs, allow-incomplete-defs
"""Label attention on GPUs in Triton, the same function as the blocks of torch operations.

Tested in Triton's interpreter and on an H100, compiled for compute capabilities from 8.0 on. :mod:`.triton_choice` says
when it is taken.

Shape key: as in :mod:`.label_attention`, and **l** labels of a block or tile, **p** positions of a tile.

A program has one tile of labels, one document and one head, and goes through the document's positions tile by tile. The
scores and contributions (l, p) of a tile exist in registers only; widths are summed up in steps, so that a head may be
wider than what a multiprocessor holds. All tensors are contiguous. Offsets are 64-bit: L·D and L·U exceed 2³¹.

The forward pass never writes a score to memory. The backward pass makes the weights of a block of labels anew in one
kernel, which writes the gradients of its scores and contributions (A, l, B, T) in the type of the products; four matrix
products of torch turn them into the gradients of the operands. Memory is that of a block. Summing inside the kernel
would need accumulators as wide as a head; of D = 1024 no multiprocessor holds them, and the ways round that, weights
made again for each piece of D or sums kept in memory, cost more than to write and read 12 bytes a score. There is no
atomic addition, so results repeat.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable

from plant_plugin.networks.kernels.passes import Context, add_product
from plant_plugin.networks.kernels.prior import PriorLookup

# Labels of a tile, forward and backward. The backward kernel holds more numbers a score: with 128 labels it spills
# registers (248 bytes a thread for capability 9.0), with 64 it does not; what 128 × 64 scores take decided the rest.
LABELS_FORWARD, LABELS_BACKWARD = 128, 64
PROGRAMS_THAT_FILL = 256  # programs of a launch; where there would be fewer, the tiles of labels are made smaller


@triton.jit
def _product(rows, columns, known, real, WIDTH: tl.constexpr, STEP: tl.constexpr, PRECISION: tl.constexpr, WIDE):
    """Return inner products (l, p) of the vectors that begin at ``rows`` (l,) and ``columns`` (p,), both pointers."""
    total = tl.zeros((rows.shape[0], columns.shape[0]), dtype=WIDE)
    for start in range(0, WIDTH, STEP):
        across = start + tl.arange(0, STEP)
        inside = across < WIDTH
        left = tl.load(rows[:, None] + across[None, :], mask=known[:, None] & inside[None, :], other=0.0)
        right = tl.load(columns[None, :] + across[:, None], mask=inside[:, None] & real[None, :], other=0.0)
        total = tl.dot(left, right, total, input_precision=PRECISION, out_dtype=WIDE)
    return total


@triton.jit
def _tile(
    queries, keys, values, outputs, mask, table, columns, strength,
    label, known, document, head, start, labels, positions,
    HEADS: tl.constexpr, KEY_WIDTH: tl.constexpr, VALUE_WIDTH: tl.constexpr, PLANTED: tl.constexpr,
    POSITIONS: tl.constexpr, STEP: tl.constexpr, PRECISION: tl.constexpr, WIDE: tl.constexpr,
):  # fmt: skip
    """Return scores (padding −∞), contributions and relevance (l, p) of a tile; padded states are never read."""
    place = start + tl.arange(0, POSITIONS)
    at = document.to(tl.int64) * positions + place
    real = tl.load(mask + at, mask=place < positions, other=0) != 0
    row, column = label * HEADS + head, at * HEADS + head
    # contributions first: the relevance then lives through no product, which would spill registers
    contributions = _product(
        outputs + row * VALUE_WIDTH, values + column * VALUE_WIDTH, known, real, VALUE_WIDTH, STEP, PRECISION, WIDE
    )
    scores = _product(
        queries + row * KEY_WIDTH, keys + column * KEY_WIDTH, known, real, KEY_WIDTH, STEP, PRECISION, WIDE
    )
    relevance = scores
    if PLANTED:
        beta = tl.load(strength + row, mask=known, other=0.0)
        kind = tl.load(columns + at, mask=real, other=0)
        # the table is (U, L): neighbouring labels lie side by side, so that a warp reads whole lines
        relevance = tl.load(
            (table + kind * labels)[None, :] + label[:, None], mask=known[:, None] & real[None, :], other=0.0
        ).to(WIDE)
        scores += beta[:, None].to(WIDE) * relevance
    scores = tl.where(real[None, :], scores, float("-inf"))
    return scores, contributions, relevance


@triton.jit
def attend(
    queries, keys, values, outputs, mask, lengths, table, columns, strength, attended, normaliser, labels, positions,
    HEADS: tl.constexpr, KEY_WIDTH: tl.constexpr, VALUE_WIDTH: tl.constexpr, PLANTED: tl.constexpr,
    LABELS: tl.constexpr, POSITIONS: tl.constexpr, STEP: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """Compute the softmax over a document's positions and the weighted sum of the contributions.

    Grid (B, tiles of labels, A): documents first, so that programs side by side share a tile of labels.

    Queries are (L, A, key width), keys (B, T, A, key width), outputs (L, A, value width), values (B, T, A, value
    width); the mask (B, T) is uint8, and ``lengths`` (B,) int32 say how many positions are worth reading: the mask
    holds inside them too. Where PLANTED there is a prior: ``table`` (U, L), of which ``columns`` (B, T) int64 name
    rows, and ``strength`` (L, A). ``attended`` (A, B, L), whose type is that of the arithmetic, gets the sums,
    ``normaliser`` (A, B, L) the logarithm of the sum of the exponentials. LABELS, POSITIONS and STEP, the widths summed
    at once, are powers of two from 16; PRECISION of float32 products is ``ieee`` or ``tf32``.
    """
    WIDE: tl.constexpr = attended.dtype.element_ty
    document, head = tl.program_id(0), tl.program_id(2)
    label = tl.program_id(1).to(tl.int64) * LABELS + tl.arange(0, LABELS)
    known = label < labels
    highest = tl.full((LABELS,), float("-inf"), WIDE)
    total, summed = tl.zeros((LABELS,), WIDE), tl.zeros((LABELS,), WIDE)
    for start in range(0, tl.load(lengths + document), POSITIONS):
        scores, contributions, _ = _tile(
            queries, keys, values, outputs, mask, table, columns, strength,
            label, known, document, head, start, labels, positions,
            HEADS, KEY_WIDTH, VALUE_WIDTH, PLANTED, POSITIONS, STEP, PRECISION, WIDE,
        )  # fmt: skip
        now_highest = tl.maximum(highest, tl.max(scores, axis=1))
        shift = tl.where(now_highest == float("-inf"), 0.0, now_highest)  # nothing but padding so far: not −∞ − −∞
        weights, fading = tl.exp(scores - shift[:, None]), tl.exp(highest - shift)
        total = total * fading + tl.sum(weights, axis=1)
        summed = summed * fading + tl.sum(weights * contributions, axis=1)
        highest = now_highest
    to = (head * tl.num_programs(0) + document).to(tl.int64) * labels + label
    tl.store(attended + to, summed / total, mask=known)
    tl.store(normaliser + to, highest + tl.log(total), mask=known)


@triton.jit
def score_gradients(
    queries, keys, values, outputs, mask, lengths, table, columns, strength, attended, normaliser,
    arriving, to_scores, to_contributions, to_strength, labels, positions, first, count,
    HEADS: tl.constexpr, KEY_WIDTH: tl.constexpr, VALUE_WIDTH: tl.constexpr, PLANTED: tl.constexpr,
    LABELS: tl.constexpr, POSITIONS: tl.constexpr, STEP: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """Compute the gradients of scores and contributions for a run of labels, from weights made anew.

    Grid (B, tiles of the run, A). Tensors, constants, L and T as in :func:`attend`, whose results are read here, and
    ``arriving`` (B, L), the gradient of the logits. The run is ``count`` labels from the label ``first`` on.
    ``to_scores`` and ``to_contributions`` (A, count, B, T) get the gradients of both, 0 at padding; ``to_strength``
    (A, B, count) gets each document's part of the gradient of the strength, where PLANTED.
    """
    WIDE: tl.constexpr = attended.dtype.element_ty
    document, head, documents = tl.program_id(0), tl.program_id(2), tl.num_programs(0)
    index = tl.program_id(1).to(tl.int64) * LABELS + tl.arange(0, LABELS)
    label, known = first + index, index < count
    at = (head * documents + document).to(tl.int64) * labels + label
    mean = tl.load(attended + at, mask=known, other=0.0)[:, None]
    norm = tl.load(normaliser + at, mask=known, other=0.0)[:, None]
    pull = tl.load(arriving + document.to(tl.int64) * labels + label, mask=known, other=0.0)[:, None]
    to = (((head * count + index) * documents + document) * positions)[:, None]
    length = tl.load(lengths + document)
    of_strength = tl.zeros((LABELS,), WIDE)
    for start in range(0, length, POSITIONS):
        scores, contributions, relevance = _tile(
            queries, keys, values, outputs, mask, table, columns, strength,
            label, known, document, head, start, labels, positions,
            HEADS, KEY_WIDTH, VALUE_WIDTH, PLANTED, POSITIONS, STEP, PRECISION, WIDE,
        )  # fmt: skip
        weights = tl.exp(scores - norm) * pull
        of_scores = weights * (contributions - mean)
        if PLANTED:
            of_strength += tl.sum(of_scores * relevance, axis=1)
        place = start + tl.arange(0, POSITIONS)[None, :]
        inside = known[:, None] & (place < positions)
        tl.store((to_scores + to) + place, of_scores.to(to_scores.dtype.element_ty), mask=inside)
        tl.store((to_contributions + to) + place, weights.to(to_contributions.dtype.element_ty), mask=inside)
    for start in range(tl.cdiv(length, POSITIONS) * POSITIONS, positions, POSITIONS):
        place = start + tl.arange(0, POSITIONS)[None, :]
        inside, nothing = known[:, None] & (place < positions), tl.zeros((LABELS, POSITIONS), WIDE)
        tl.store((to_scores + to) + place, nothing.to(to_scores.dtype.element_ty), mask=inside)
        tl.store((to_contributions + to) + place, nothing.to(to_contributions.dtype.element_ty), mask=inside)
    if PLANTED:
        tl.store(to_strength + (head * documents + document).to(tl.int64) * count + index, of_strength, mask=known)


class Tiles(NamedTuple):
    """Sizes of a launch's tiles, chosen by registers and shared memory, not measured."""

    labels: int
    positions: int
    step: int  # of the widths
    warps: int

    @classmethod
    def of(cls, most: int, dtype: torch.dtype, labels: int, others: int, width: int) -> Tiles:
        """Choose for ``most`` labels a tile, the products' type, L, documents times heads, and the larger width."""
        narrow = dtype.itemsize == 2
        rows = most if narrow else min(most, 64)
        while rows > 16 and triton.cdiv(labels, rows) * others < PROGRAMS_THAT_FILL:
            rows //= 2
        step = min(64 if narrow else 32, max(16, triton.next_power_of_2(width)))
        return cls(rows, 64, step, 8 if rows >= 64 else 4)


class _Operands(NamedTuple):
    """Contiguous tensors that both kernels read; the first four are in the type of the products."""

    queries: Tensor  # (L, A, D)
    keys: Tensor  # (B, T, A, D)
    values: Tensor
    outputs: Tensor
    mask: Tensor  # (B, T) uint8
    lengths: Tensor  # (B,) int32
    table: Tensor  # (U, L); anything where nothing is planted
    columns: Tensor  # (B, T)
    strength: Tensor  # (L, A)


Rest: TypeAlias = tuple[bool, int, torch.dtype]  # whether a prior is planted, the size of a block, the result's type


class LabelAttentionTriton(torch.autograd.Function):
    """Logits (B, L) on any device that Triton or its interpreter knows.

    Takes queries, keys, values, outputs, strength, mask and prior as :func:`.label_attention.label_attention_logits`
    does, the type of the products and the size of a block; marks of the prior are not read.
    """

    @staticmethod
    def forward(ctx: Context[Rest], *arguments: Any) -> Tensor:
        """Run one program for each document, head and tile of labels."""
        prior: PriorLookup | None
        queries, keys, values, outputs, strength, mask, prior, dtype, block_elements = arguments
        labels, heads = queries.shape[:2]
        places = torch.arange(1, mask.shape[1] + 1, device=mask.device, dtype=torch.int32)
        states = [part.detach().to(dtype).contiguous() for part in (queries, keys, values, outputs)]
        of_mask = [mask.contiguous().view(torch.uint8), (mask * places).amax(dim=1)]
        of_prior, planted = [mask] * 3, False  # nothing to read
        if prior is not None and strength is not None:
            of_prior, planted = [prior.dense().t(), prior.columns, strength.detach()], True
        operands = _Operands(*states, *of_mask, *(part.contiguous() for part in of_prior))
        wide = torch.promote_types(queries.dtype, torch.float32)
        attended = queries.new_empty(heads, len(mask), labels, dtype=wide)
        normaliser = torch.empty_like(attended)
        width = max(queries.shape[2], outputs.shape[2])
        tiles = Tiles.of(LABELS_FORWARD, dtype, labels, heads * len(mask), width)
        if attended.numel():
            with torch.cuda.device_of(queries):
                attend[(len(mask), triton.cdiv(labels, tiles.labels), heads)](
                    *operands, attended, normaliser, labels, mask.shape[1], **_constants(operands, planted, tiles)
                )
        ctx.save_for_backward(*operands, attended, normaliser)
        ctx.rest = planted, block_elements, queries.dtype
        return attended.sum(dim=0).to(queries.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Context[Rest], *arriving: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients of queries, keys, values, outputs and strength."""
        *tensors, attended, normaliser = ctx.saved_tensors
        planted, block_elements, kind = ctx.rest
        pull = arriving[0].to(attended.dtype).contiguous()
        with torch.cuda.device_of(attended), torch.autocast(device_type=attended.device.type, enabled=False):
            gradients = _gradients(_Operands(*tensors), planted, attended, normaliser, block_elements, pull)
        return (*(None if part is None else part.to(kind) for part in gradients), None, None, None, None)


def _gradients(
    operands: _Operands, planted: bool, attended: Tensor, normaliser: Tensor, block_elements: int, pull: Tensor
) -> tuple[Tensor | None, ...]:
    """Turn the gradient of the logits (B, L) into those of queries, keys, values, outputs and strength.

    All documents and heads of a block of labels are computed at once.
    """
    labels, heads = operands.queries.shape[:2]
    batch, positions = operands.mask.shape
    fitting = max(1, block_elements // max(1, heads * batch * positions))
    fitting -= fitting % LABELS_BACKWARD if fitting > LABELS_BACKWARD else 0  # whole tiles
    size, wide = max(1, min(labels, fitting)), attended.dtype
    width = max(operands.queries.shape[2], operands.outputs.shape[2])
    tiles = Tiles.of(LABELS_BACKWARD, operands.keys.dtype, size, heads * batch, width)
    # (A, B·T, D) and (A, L, D): views, read by the products as they lie
    keys, values = (part.flatten(0, 1).transpose(0, 1) for part in (operands.keys, operands.values))
    queries, outputs = (part.transpose(0, 1) for part in (operands.queries, operands.outputs))
    to_keys, to_values = (torch.zeros(part.shape, dtype=wide, device=part.device) for part in (keys, values))
    to_queries, to_outputs = (torch.empty_like(part, dtype=wide) for part in (operands.queries, operands.outputs))
    to_strength = torch.empty_like(operands.strength, dtype=wide) if planted else None
    room = [keys.new_empty(size * heads * batch * positions) for _ in range(2)]
    for start in range(0, labels, size):
        part = slice(start, min(start + size, labels))
        count = part.stop - start
        to_scores, to_contributions = (
            space[: heads * count * batch * positions].view(heads, count, batch * positions) for space in room
        )
        of_strength = attended.new_empty(heads, batch, count if planted else 0)
        if to_scores.numel():
            score_gradients[(batch, triton.cdiv(count, tiles.labels), heads)](
                *operands, attended, normaliser, pull, to_scores, to_contributions, of_strength,
                labels, positions, start, count, **_constants(operands, planted, tiles),
            )  # fmt: skip
        to_queries[part] = torch.bmm(to_scores, keys).transpose(0, 1)
        to_outputs[part] = torch.bmm(to_contributions, values).transpose(0, 1)
        add_product(to_keys, to_scores.transpose(1, 2), queries[:, part])
        add_product(to_values, to_contributions.transpose(1, 2), outputs[:, part])
        if to_strength is not None:
            to_strength[part] = of_strength.sum(dim=1).t()
    by_place = (total.transpose(0, 1).unflatten(0, (batch, positions)) for total in (to_keys, to_values))
    return to_queries, *by_place, to_outputs, to_strength


def _constants(operands: _Operands, planted: bool, tiles: Tiles) -> dict[str, int | str]:
    """Return the constants that both kernels are compiled for."""
    return {
        "HEADS": operands.queries.shape[1],
        "KEY_WIDTH": operands.queries.shape[2],
        "VALUE_WIDTH": operands.outputs.shape[2],
        "PLANTED": planted,
        "LABELS": tiles.labels,
        "POSITIONS": tiles.positions,
        "STEP": tiles.step,
        # as torch's own products: the user's torch.set_float32_matmul_precision
        "PRECISION": "ieee" if torch.get_float32_matmul_precision() == "highest" else "tf32",
        "num_warps": tiles.warps,
    }
