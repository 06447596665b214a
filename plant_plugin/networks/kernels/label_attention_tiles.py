"""Triton kernels of the label attention; :mod:`.label_attention_triton` launches them and says how they were tested.

Shape key: as in :mod:`.label_attention`, and **l** labels, **p** positions of one tile.

A program has one tile of labels, one document and one head, and goes through the document's positions tile by tile. The
scores and contributions (l, p) of a tile exist in registers only; widths are summed up in steps, so that a head may be
wider than what a multiprocessor holds. All tensors are contiguous. Offsets are 64-bit: L·D and L·U exceed 2³¹.
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def _product(rows, columns, known, real, WIDTH: tl.constexpr, STEP: tl.constexpr, PRECISION: tl.constexpr, WIDE):  # type: ignore[no-untyped-def]
    """Inner products (l, p) of the vectors that begin at ``rows`` (l,) and ``columns`` (p,), both pointers."""
    found = tl.zeros((rows.shape[0], columns.shape[0]), dtype=WIDE)
    for start in range(0, WIDTH, STEP):
        across = start + tl.arange(0, STEP)
        inside = across < WIDTH
        left = tl.load(rows[:, None] + across[None, :], mask=known[:, None] & inside[None, :], other=0.0)
        right = tl.load(columns[None, :] + across[:, None], mask=inside[:, None] & real[None, :], other=0.0)
        found = tl.dot(left, right, found, input_precision=PRECISION, out_dtype=WIDE)
    return found


@triton.jit
def _tile(  # type: ignore[no-untyped-def]
    queries, keys, values, outputs, mask, table, columns, strength,
    label, known, document, head, start, labels, positions,
    HEADS: tl.constexpr, KEY_WIDTH: tl.constexpr, VALUE_WIDTH: tl.constexpr, PLANTED: tl.constexpr,
    POSITIONS: tl.constexpr, STEP: tl.constexpr, PRECISION: tl.constexpr, WIDE: tl.constexpr,
):  # fmt: skip
    """Scores (padding −∞), contributions and relevance (l, p) of one tile; padded states are never read."""
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
def attend(  # type: ignore[no-untyped-def]
    queries, keys, values, outputs, mask, lengths, table, columns, strength, attended, normaliser, labels, positions,
    HEADS: tl.constexpr, KEY_WIDTH: tl.constexpr, VALUE_WIDTH: tl.constexpr, PLANTED: tl.constexpr,
    LABELS: tl.constexpr, POSITIONS: tl.constexpr, STEP: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """Softmax over a document's positions and the weighted sum of the contributions.

    Grid (B, tiles of labels, A): documents first, so that programs side by side share a tile of labels.

    Args:
        queries: (L, A, key width).
        keys: (B, T, A, key width).
        values: (B, T, A, value width).
        outputs: (L, A, value width).
        mask: (B, T) uint8.
        lengths: (B,) int32, how many positions are worth reading; the mask holds inside them too.
        table: (U, L) relevance; read where PLANTED, as the two that follow.
        columns: (B, T) int64 rows of ``table``.
        strength: (L, A).
        attended: (A, B, L), gets the sums; its type is that of the arithmetic.
        normaliser: (A, B, L), gets the logarithm of the sum of the exponentials.
        labels: L.
        positions: T.
        HEADS: A.
        KEY_WIDTH: Width of queries and keys.
        VALUE_WIDTH: Width of outputs and values.
        PLANTED: Whether there is a prior.
        LABELS: l, a power of two from 16.
        POSITIONS: p, a power of two from 16.
        STEP: Widths summed at once, a power of two from 16.
        PRECISION: Of float32 products: ``ieee`` or ``tf32``.
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
def score_gradients(  # type: ignore[no-untyped-def]
    queries, keys, values, outputs, mask, lengths, table, columns, strength, attended, normaliser,
    arriving, to_scores, to_contributions, to_strength, labels, positions, first, count,
    HEADS: tl.constexpr, KEY_WIDTH: tl.constexpr, VALUE_WIDTH: tl.constexpr, PLANTED: tl.constexpr,
    LABELS: tl.constexpr, POSITIONS: tl.constexpr, STEP: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """Gradients of scores and contributions for a run of labels, from weights made anew.

    Grid (B, tiles of the run, A). Tensors, constants, L and T as in :func:`attend`, whose results are read here, and
    ``arriving`` (B, L), the gradient of the logits. The run is ``count`` labels from the label ``first`` on.
    ``to_scores`` and ``to_contributions`` (A, count, B, T) get the gradients of both, 0 at padding; ``to_strength``
    (A, B, count) gets each document's part of the gradient of the strength, where PLANTED.
    """
    WIDE: tl.constexpr = attended.dtype.element_ty
    document, head, documents = tl.program_id(0), tl.program_id(2), tl.num_programs(0)
    own = tl.program_id(1).to(tl.int64) * LABELS + tl.arange(0, LABELS)
    label, known = first + own, own < count
    at = (head * documents + document).to(tl.int64) * labels + label
    mean = tl.load(attended + at, mask=known, other=0.0)[:, None]
    norm = tl.load(normaliser + at, mask=known, other=0.0)[:, None]
    pull = tl.load(arriving + document.to(tl.int64) * labels + label, mask=known, other=0.0)[:, None]
    to = (((head * count + own) * documents + document) * positions)[:, None]
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
        tl.store(to_strength + (head * documents + document).to(tl.int64) * count + own, of_strength, mask=known)
