"""Label attention straight to logits, block by block of labels, beside a plain reference.

Shape key: **B** documents · **A** heads · **T** token positions · **L** labels · **D** width of one head · **U**
distinct token types of the batch.

For every document and label (method §2, facts 1 to 3)::

    scores = queries · keys + strength · prior        (L, T) per head; padding is −∞
    logit  = Σ_heads Σ_t softmax_t(scores) · (values · outputs)

The weights (B, A, L, T) exist for one block of labels at a time; the backward pass makes them again from the stored
log-normaliser. That trades two more matrix products for memory that does not grow with L·T: on a CPU the page faults of
the dense way cost more than the products do.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

# Elements of one (A, labels, B, T) buffer. About 2 MiB in float32: two of them and the operands fit a core's cache.
BLOCK_ELEMENTS = 2**19
# Scores are cut off this far below the highest: e^-80 adds nothing to a float32 sum, but a vectorised exp of −∞ or of
# anything that underflows takes a slow path (measured: 5 to 30 ns an element instead of 0.4).
LOWEST_EXPONENT = -80.0
# Positions worked on at once. Keys and values of 2048 positions stay in a core's cache while all labels pass over them;
# with a whole batch of 32 × 400 the products ran at half the speed, waiting for memory.
CHUNK_POSITIONS = 2048


class PriorLookup(NamedTuple):
    """Relevance of the batch's tokens, kept once per distinct token type.

    Attributes:
        table: (L, U) relevance r of each label for each distinct token type of the batch.
        columns: (B, T) int64, the column of ``table`` that belongs to each position.
    """

    table: Tensor
    columns: Tensor


def label_attention_reference(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    outputs: Tensor,
    mask: Tensor,
    prior: PriorLookup | None = None,
    strength: Tensor | None = None,
) -> Tensor:
    """The same numbers as :func:`label_attention_logits`, with every tensor written out. For tests and reading.

    Args:
        queries: (L, A, D) label queries, already divided by √D.
        keys: (B, T, A, D).
        values: (B, T, A, D).
        outputs: (L, A, D) what each label reads from the attended values.
        mask: (B, T) bool, true on real tokens; at least one per document.
        prior: Relevance that is added to the scores (method §8), or None.
        strength: (L, A) β, the weight of the prior; needed with ``prior``.

    Returns:
        (B, L) logits without the label bias.
    """
    scores = torch.einsum("lad,btad->balt", queries, keys)
    if prior is not None and strength is not None:
        relevance = prior.table[:, prior.columns]  # (L, B, T)
        scores = scores + torch.einsum("la,lbt->balt", strength, relevance.to(scores.dtype))
    scores = scores.masked_fill(~mask[:, None, None, :], float("-inf"))
    attention = scores.softmax(dim=-1)
    contributions = torch.einsum("lad,btad->balt", outputs, values)
    return (attention * contributions).sum(dim=(1, 3))


def label_attention_logits(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    outputs: Tensor,
    mask: Tensor,
    prior: PriorLookup | None = None,
    strength: Tensor | None = None,
    *,
    product_dtype: torch.dtype | None = None,
    block_elements: int = BLOCK_ELEMENTS,
) -> Tensor:
    """Logits of all labels without ever holding the weights of all labels.

    Args:
        queries: (L, A, D) label queries, already divided by √D.
        keys: (B, T, A, D).
        values: (B, T, A, D).
        outputs: (L, A, D) what each label reads from the attended values.
        mask: (B, T) bool, true on real tokens; at least one per document.
        prior: Relevance that is added to the scores (method §8), or None.
        strength: (L, A) β, the weight of the prior; needed with ``prior``.
        product_dtype: Type of the matrix products' operands (e.g. bfloat16); None: that of ``queries``. Softmax, sums
            and the result stay in the type of ``queries``.
        block_elements: Size of one working buffer, in elements.

    Returns:
        (B, L) logits without the label bias.

    Source: method §2, facts 1 to 3; the recomputation is that of Dao et al. 2022 (FlashAttention), per label block.
    """
    if prior is not None and strength is None:
        raise ValueError("a prior needs its strength")
    documents = max(1, CHUNK_POSITIONS // max(1, keys.shape[1])) if queries.device.type == "cpu" else keys.shape[0]
    chunks = []
    with torch.autocast(device_type=queries.device.type, enabled=False):
        by_head, reading = queries.transpose(0, 1).contiguous(), outputs.transpose(0, 1).contiguous()  # (A, L, D)
        weight = strength.t().contiguous() if prior is not None and strength is not None else None  # (A, L)
        for start in range(0, keys.shape[0], documents):
            part = slice(start, start + documents)
            bias = torch.zeros_like(mask[part], dtype=queries.dtype).masked_fill_(~mask[part], float("-inf"))
            chunk: Tensor = _LabelAttention.apply(
                by_head,
                _flat(keys[part]).to(queries.dtype),
                _flat(values[part]).to(queries.dtype),
                reading,
                weight,
                bias,
                None if prior is None else prior.table,
                None if prior is None else prior.columns[part].reshape(-1),
                product_dtype or queries.dtype,
                block_elements,
            )
            chunks.append(chunk)
    return torch.cat(chunks)


def _flat(states: Tensor) -> Tensor:
    """(B, T, A, D) as (A, D, B·T)."""
    batch, positions, heads, width = states.shape
    return states.permute(2, 3, 0, 1).reshape(heads, width, batch * positions)


class _Blocks:
    """Working buffers of one pass, allocated once and used by every block of labels."""

    def __init__(self, operands: _Operands) -> None:
        heads, labels, _ = operands.queries.shape
        self.batch, self.positions = operands.bias.shape
        columns = self.batch * self.positions
        self.size = max(1, min(labels, operands.block_elements // max(1, heads * columns)))
        self.labels = labels
        shape = (heads, self.size, columns)
        like = operands.bias
        self.scores, self.contributions = like.new_empty(shape), like.new_empty(shape)
        self.prior = like.new_empty(self.size, columns) if operands.table is not None else None
        self.product = None
        if operands.dtype != like.dtype:
            self.product = torch.empty(shape, dtype=operands.dtype, device=like.device)

    def multiply(self, left: Tensor, right: Tensor, out: Tensor) -> None:
        """Product ``left`` @ ``right`` into ``out``, through the narrow buffer where the operands are narrow."""
        if self.product is None:
            torch.bmm(left, right, out=out)
        else:
            narrow = self.product[:, : left.shape[1]]
            if narrow.is_contiguous():
                torch.bmm(left, right, out=narrow)
                out.copy_(narrow)
            else:
                out.copy_(torch.bmm(left, right))


class _Operands(NamedTuple):
    """What forward and backward compute from; narrow copies are made once per pass."""

    queries: Tensor  # (A, L, D)
    keys: Tensor  # (A, D, B·T)
    values: Tensor
    outputs: Tensor
    strength: Tensor | None  # (A, L)
    bias: Tensor  # (B, T): 0 or −∞
    table: Tensor | None  # (L, U)
    columns: Tensor | None  # (B·T,)
    dtype: torch.dtype
    block_elements: int


def _score_block(operands: _Operands, blocks: _Blocks, start: int, end: int) -> tuple[Tensor, Tensor, Tensor | None]:
    """Scores (A, l, B, T) with prior and padding, contributions (A, l, B, T) and relevance (l, B·T) of one block."""
    count = end - start
    scores, contributions = blocks.scores[:, :count], blocks.contributions[:, :count]
    if count < blocks.size:  # the last, smaller block; `out=` wants contiguous memory
        scores, contributions = torch.empty_like(scores), torch.empty_like(contributions)
    blocks.multiply(operands.queries[:, start:end], operands.keys, scores)
    relevance = None
    if operands.table is not None and operands.columns is not None and operands.strength is not None:
        if blocks.prior is None:
            raise RuntimeError("no buffer for the prior")
        relevance = blocks.prior[:count]
        torch.index_select(operands.table[start:end], 1, operands.columns, out=relevance)
        scores.addcmul_(operands.strength[:, start:end, None], relevance)
    blocks.multiply(operands.outputs[:, start:end], operands.values, contributions)
    shape = (scores.shape[0], count, blocks.batch, blocks.positions)
    return scores.view(shape).add_(operands.bias), contributions.view(shape), relevance


class _LabelAttention(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, *arguments: Any) -> Tensor:
        given = _Operands(*arguments)
        operands = given._replace(
            queries=given.queries.to(given.dtype),
            keys=given.keys.to(given.dtype),
            values=given.values.to(given.dtype),
            outputs=given.outputs.to(given.dtype),
        )
        blocks = _Blocks(operands)
        heads = operands.queries.shape[0]
        attended = operands.bias.new_empty(heads, blocks.labels, blocks.batch)
        normaliser = torch.empty_like(attended)
        for start in range(0, blocks.labels, blocks.size):
            end = min(start + blocks.size, blocks.labels)
            scores, contributions, _ = _score_block(operands, blocks, start, end)
            highest = scores.amax(dim=-1, keepdim=True)
            weights = scores.sub_(highest).clamp_(min=LOWEST_EXPONENT).exp_()
            total = weights.sum(dim=-1)
            attended[:, start:end] = contributions.mul_(weights).sum(dim=-1) / total
            normaliser[:, start:end] = highest.squeeze(-1) + total.log()
        tensors = (operands.queries, operands.keys, operands.values, operands.outputs, operands.strength)
        ctx.save_for_backward(*tensors, operands.bias, operands.table, operands.columns, attended, normaliser)
        ctx.dtype, ctx.block_elements = operands.dtype, operands.block_elements
        return attended.sum(dim=0).t().contiguous()  # (B, L)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        *tensors, attended, normaliser = ctx.saved_tensors
        operands = _Operands(*(*tensors, ctx.dtype, ctx.block_elements))
        with torch.autocast(device_type=operands.bias.device.type, enabled=False):
            found = _backward(operands, attended, normaliser, gradients[0].t().to(operands.bias.dtype))
        return (*found, None, None, None, None, None)


def _backward(
    operands: _Operands, attended: Tensor, normaliser: Tensor, gradient: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor | None]:
    """Gradients of queries, keys, values, outputs and strength; ``gradient`` is (L, B)."""
    blocks = _Blocks(operands)
    wide = operands.bias.dtype
    keys_back, values_back = operands.keys.transpose(1, 2), operands.values.transpose(1, 2)  # (A, B·T, D)
    to_queries = torch.empty_like(operands.queries, dtype=wide)
    to_outputs = torch.empty_like(operands.outputs, dtype=wide)
    to_keys = torch.zeros_like(operands.keys, dtype=wide)
    to_values = torch.zeros_like(operands.values, dtype=wide)
    to_strength = None if operands.strength is None else torch.empty_like(operands.strength)
    for start in range(0, blocks.labels, blocks.size):
        end = min(start + blocks.size, blocks.labels)
        scores, contributions, relevance = _score_block(operands, blocks, start, end)
        weights = scores.sub_(normaliser[:, start:end, :, None]).clamp_(min=LOWEST_EXPONENT).exp_()
        weights.mul_(gradient[start:end, :, None])  # gradient · softmax: what reaches the contributions
        to_scores = contributions.sub_(attended[:, start:end, :, None]).mul_(weights)
        flat = (weights.shape[0], end - start, -1)
        weights_flat, scores_flat = weights.view(flat), to_scores.view(flat)
        if to_strength is not None and relevance is not None:
            to_strength[:, start:end] = torch.einsum("alc,lc->al", scores_flat, relevance)
        weights_flat, scores_flat = weights_flat.to(operands.dtype), scores_flat.to(operands.dtype)
        to_outputs[:, start:end] = torch.bmm(weights_flat, values_back)
        to_queries[:, start:end] = torch.bmm(scores_flat, keys_back)
        _add_product(to_values, operands.outputs[:, start:end].transpose(1, 2), weights_flat)
        _add_product(to_keys, operands.queries[:, start:end].transpose(1, 2), scores_flat)
    return to_queries, to_keys, to_values, to_outputs, to_strength


def _add_product(total: Tensor, left: Tensor, right: Tensor) -> None:
    """Add ``left`` @ ``right`` to ``total``; the running sum stays wide."""
    if total.dtype == left.dtype:
        total.baddbmm_(left, right)
    else:
        total.add_(torch.bmm(left, right))
