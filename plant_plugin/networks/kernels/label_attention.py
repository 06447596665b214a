"""Label attention straight to logits, block by block of labels, beside a plain reference.

Shape key: **B** documents · **A** heads · **T** token positions · **L** labels · **D** width of one head · **U**
distinct token types of the batch · **M** chosen labels of a document.

For every document and label (method §2, facts 1 to 3)::

    scores = queries · keys + strength · prior        (L, T) per head; padding is −∞
    logit  = Σ_heads Σ_t softmax_t(scores) · (values · outputs)

The weights (B, A, L, T) exist for one block of labels at a time; the backward pass makes them again from the stored
log-normaliser. That trades two more matrix products for memory that does not grow with L·T: on a CPU the page faults of
the dense way cost more than the products do.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from plant_plugin.networks.kernels.label_attention_blocks import (
    BLOCK_ELEMENTS,
    BLOCK_ELEMENTS_GPU,
    LabelAttention,
    Operands,
    Threads,
    attended_values,
    gradients_of,
)
from plant_plugin.networks.kernels.prior import PriorLookup
from plant_plugin.networks.kernels.triton_choice import takes_triton

NUMPY_TYPES = (torch.float32, torch.float64)  # the compiled loops know no narrower ones

PLAIN_SCORES = 2**20  # (B·A·L·T) that are short
_plain: ContextVar[int] = ContextVar("_plain", default=0)

HALVINGS = 2  # at most: smaller blocks cost time, and save little behind that
_halved = 0


def halve_blocks() -> bool:
    """Let all later calls use working buffers of half the size; false where they are as small as is useful."""
    global _halved
    if _halved >= HALVINGS:
        return False
    _halved += 1
    return True


@contextlib.contextmanager
def plain_where_short() -> Iterator[None]:
    """Inside, the reference computes what is short on a CPU: it need not be compiled, which takes seconds.

    For predicting a few texts. Its sums are rounded elsewhere, so that numbers differ in their last digits.
    """
    before = _plain.set(PLAIN_SCORES)
    try:
        yield
    finally:
        _plain.reset(before)


def label_attention_reference(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    outputs: Tensor,
    mask: Tensor,
    prior: PriorLookup | None = None,
    strength: Tensor | None = None,
) -> Tensor:
    """The same numbers as :func:`label_attention_logits`, with every tensor written out. For reading and short texts.

    Arguments as of :func:`label_attention_logits`.

    Returns:
        (B, L) logits without the label bias.
    """
    scores = torch.einsum("lad,btad->balt", queries, keys)
    if prior is not None and strength is not None:
        scores = scores + torch.einsum("la,lbt->balt", strength, prior.everywhere().to(scores.dtype))
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
    block_elements: int | None = None,
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
        block_elements: Size of one working buffer, in elements; None: what suits the device.

    Returns:
        (B, L) logits without the label bias.

    On a GPU :mod:`.triton_choice` says whether torch's operations or Triton compute this.

    Source: method §2, facts 1 to 3; the recomputation is that of Dao et al. 2022 (FlashAttention), per label block.
    """
    if prior is not None and strength is None:
        raise ValueError("a prior needs its strength")
    scores = queries.shape[:2].numel() * keys.shape[:2].numel()
    if scores <= _plain.get() and keys.device.type == "cpu" and product_dtype is None:
        return label_attention_reference(queries, keys, values, outputs, mask, prior, strength)
    marked = prior is not None and prior.marks is not None  # the Triton kernel reads one column a position
    if queries.dtype != torch.float64 and not marked and takes_triton(queries.device, where_auto=False):
        elements = block_elements or _fitting_elements(queries.device)
        return _through_triton(
            queries, keys, values, outputs, mask, prior, strength, product_dtype or queries.dtype, elements
        )
    with torch.autocast(device_type=queries.device.type, enabled=False):
        operands = as_operands(
            queries, keys, values, outputs, mask, prior, strength,
            product_dtype=product_dtype, block_elements=block_elements,
        )  # fmt: skip
        logits: Tensor = LabelAttention.apply(*operands)
    return logits


def as_operands(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    outputs: Tensor,
    mask: Tensor,
    prior: PriorLookup | None = None,
    strength: Tensor | None = None,
    *,
    product_dtype: torch.dtype | None = None,
    block_elements: int | None = None,
) -> Operands:
    """The arguments of :func:`label_attention_logits` as the blocks read them."""
    if prior is not None and prior.entries is not None and queries.dtype not in NUMPY_TYPES:
        prior = PriorLookup(prior.dense().to(queries.dtype), prior.columns, None, prior.marks)
    return Operands(
        queries.transpose(0, 1).contiguous(),
        keys.to(queries.dtype),
        values.to(queries.dtype),
        outputs.transpose(0, 1).contiguous(),
        None if prior is None or strength is None else strength.t().contiguous(),
        mask,
        None if prior is None else prior.table,
        None if prior is None else prior.columns,
        product_dtype or queries.dtype,
        block_elements or _fitting_elements(queries.device),
        None if prior is None else prior.entries,
        None if prior is None else prior.marks,
    )


def _fitting_elements(device: torch.device) -> int:
    return (BLOCK_ELEMENTS if device.type == "cpu" else BLOCK_ELEMENTS_GPU) >> _halved


def _through_triton(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    outputs: Tensor,
    mask: Tensor,
    prior: PriorLookup | None,
    strength: Tensor | None,
    product_dtype: torch.dtype,
    block_elements: int,
) -> Tensor:
    """As :func:`label_attention_logits`, on any device that Triton or its interpreter knows."""
    from plant_plugin.networks.kernels.label_attention_triton import LabelAttentionTriton

    with torch.autocast(device_type=queries.device.type, enabled=False):
        logits: Tensor = LabelAttentionTriton.apply(
            queries,
            keys.to(queries.dtype),
            values.to(queries.dtype),
            outputs,
            None if prior is None else strength,
            mask,
            None if prior is None else prior.dense(),
            None if prior is None else prior.columns,
            product_dtype,
            block_elements,
        )
    return logits


def chosen_label_logits(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    outputs: Tensor,
    mask: Tensor,
    labels: Tensor,
    prior: PriorLookup | None = None,
    strength: Tensor | None = None,
    *,
    product_dtype: torch.dtype | None = None,
) -> Tensor:
    """The same numbers as picking ``labels`` from :func:`label_attention_logits`.

    On a CPU documents are shared among threads, forward and backward: one alone is too small for two cores.

    Args:
        queries: (B, M, A, D) of the chosen labels, already divided by √D.
        keys: (B, T, A, D).
        values: (B, T, A, D).
        outputs: (B, M, A, D).
        mask: (B, T) bool, true on real tokens; at least one per document.
        labels: (B, M) label ids.
        prior: Relevance that is added to the scores (method §8), or None.
        strength: (B, M, A) β of the chosen labels; needed with ``prior``.
        product_dtype: As in :func:`label_attention_logits`.

    Returns:
        (B, M) logits without the label bias.
    """
    if prior is not None and strength is None:
        raise ValueError("a prior needs its strength")
    # one after the other: on a GPU each is a dense table
    priors = (None if prior is None else prior.at(document, labels[document]) for document in range(len(labels)))
    if queries.device.type == "cpu":
        with torch.autocast(device_type="cpu", enabled=False):
            logits: Tensor = _ChosenLabels.apply(
                queries,
                keys.to(queries.dtype),
                values.to(queries.dtype),
                outputs,
                strength,
                mask,
                list(priors),
                product_dtype,
            )
        return logits
    found = []
    # unbind, not indexing: the backward pass then stacks gradients instead of adding up one batch per document
    operands = (part.unbind() for part in (queries, keys, values, outputs, mask))
    strengths = [None] * len(labels) if strength is None else strength.unbind()
    for (query, key, value, output, own), planted, beta in zip(
        zip(*operands, strict=True), priors, strengths, strict=True
    ):
        found.append(
            label_attention_logits(
                query, key[None], value[None], output, own[None], planted, beta, product_dtype=product_dtype
            )
        )
    return torch.cat(found)


class _ChosenLabels(torch.autograd.Function):
    """One document after the other through the blocks, in threads; arguments as of :func:`chosen_label_logits`."""

    @staticmethod
    def forward(ctx: Any, *arguments: Any) -> Tensor:
        *tensors, priors, product_dtype = arguments
        documents = list(_documents(tensors, priors, product_dtype))
        with Threads(min(torch.get_num_threads(), len(documents))) as threads:
            found = threads.map(attended_values, documents)
        ctx.save_for_backward(*tensors, *(part for both in found for part in both))
        ctx.rest = priors, product_dtype
        return torch.stack([attended.sum(dim=0)[:, 0] for attended, _ in found])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *arriving: Tensor) -> Any:
        """Gradients of queries, keys, values, outputs and strength."""
        tensors, kept = ctx.saved_tensors[:6], ctx.saved_tensors[6:]
        pull = arriving[0].to(tensors[0].dtype)[..., None]  # (B, M, 1)
        tasks = list(zip(_documents(tensors, *ctx.rest), kept[::2], kept[1::2], pull, strict=True))
        with Threads(min(torch.get_num_threads(), len(tasks))) as threads:
            found = threads.map(lambda task: gradients_of(*task), tasks)
        queries, keys, values, outputs, strength = zip(*found, strict=True)
        by_label = (
            None if part[0] is None else torch.stack(part).transpose(1, 2) for part in (queries, outputs, strength)
        )
        to_queries, to_outputs, to_strength = by_label
        return to_queries, torch.cat(keys), torch.cat(values), to_outputs, to_strength, None, None, None


def _documents(
    tensors: list[Any], priors: list[PriorLookup | None], product_dtype: torch.dtype | None
) -> Iterator[Operands]:
    queries, keys, values, outputs, strength, mask = tensors
    for document, prior in enumerate(priors):
        one = slice(document, document + 1)
        yield as_operands(
            queries[document], keys[one], values[one], outputs[document], mask[one], prior,
            None if strength is None else strength[document], product_dtype=product_dtype,
        )  # fmt: skip
