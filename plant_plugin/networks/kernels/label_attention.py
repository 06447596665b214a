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
from typing import Any, TypeAlias

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from plant_plugin.networks.kernels.label_attention_blocks import (
    BLOCK_ELEMENTS,
    BLOCK_ELEMENTS_GPU,
    LabelAttention,
    Operands,
    attended_values,
    gradients_of,
)
from plant_plugin.networks.kernels.passes import Context, Threads
from plant_plugin.networks.kernels.prior import PriorLookup
from plant_plugin.networks.kernels.triton_choice import takes_triton

NUMPY_TYPES = (torch.float32, torch.float64)  # the compiled loops know no narrower ones

PLAIN_SCORES = 2**20  # (B·A·L·T) that are short
_plain: ContextVar[int] = ContextVar("_plain", default=0)

Tensors: TypeAlias = tuple[Tensor, Tensor, Tensor, Tensor, Tensor | None, Tensor]  # queries … outputs, strength, mask
Rest: TypeAlias = tuple[list[PriorLookup | None], torch.dtype | None]  # priors and product_dtype

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
    """The same numbers as :func:`label_attention_logits`, each tensor written out. For reading and short texts."""
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
    elements = block_elements or _fitting_elements(queries.device)
    with torch.autocast(device_type=queries.device.type, enabled=False):
        if queries.dtype != torch.float64 and not marked and takes_triton(queries.device, where_auto=False):
            from plant_plugin.networks.kernels.label_attention_triton import LabelAttentionTriton

            keys, values = keys.to(queries.dtype), values.to(queries.dtype)
            kind = product_dtype or queries.dtype
            found: Tensor = LabelAttentionTriton.apply(
                queries, keys, values, outputs, strength, mask, prior, kind, elements
            )
            return found
        tensors = queries, keys, values, outputs, strength, mask
        logits: Tensor = LabelAttention.apply(*_operands(tensors, prior, product_dtype, elements))
    return logits


def _fitting_elements(device: torch.device) -> int:
    return (BLOCK_ELEMENTS if device.type == "cpu" else BLOCK_ELEMENTS_GPU) >> _halved


def _operands(
    tensors: Tensors, prior: PriorLookup | None, product_dtype: torch.dtype | None, block_elements: int
) -> Operands:
    """The arguments of :func:`label_attention_logits` as the blocks read them."""
    queries, keys, values, outputs, strength, mask = tensors
    if prior is not None and prior.entries is not None and queries.dtype not in NUMPY_TYPES:
        prior = prior._replace(table=prior.dense().to(queries.dtype), entries=None)
    return Operands(
        queries.transpose(0, 1).contiguous(),
        keys.to(queries.dtype),
        values.to(queries.dtype),
        outputs.transpose(0, 1).contiguous(),
        None if prior is None or strength is None else strength.t().contiguous(),
        mask,
        prior,
        product_dtype or queries.dtype,
        block_elements,
    )


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
    """The same numbers (B, M) as picking ``labels`` (B, M) from :func:`label_attention_logits`.

    Arguments as there, but for those of labels: queries and outputs are (B, M, A, D), strength (B, M, A). On a CPU
    documents are shared among threads, forward and backward: one alone is too small for two cores.
    """
    if prior is not None and strength is None:
        raise ValueError("a prior needs its strength")
    # one after the other: on a GPU each is a dense table
    priors = (None if prior is None else prior.at(document, labels[document]) for document in range(len(labels)))
    if queries.device.type == "cpu":
        keys, values = keys.to(queries.dtype), values.to(queries.dtype)
        with torch.autocast(device_type="cpu", enabled=False):
            logits: Tensor = _ChosenLabels.apply(
                queries, keys, values, outputs, strength, mask, list(priors), product_dtype
            )
        return logits
    # unbind, not indexing: the backward pass then stacks gradients instead of adding up one batch per document
    by_document = [part.unbind() for part in (queries, keys, values, outputs, mask)]
    strengths = [None] * len(labels) if strength is None else strength.unbind()
    found = [
        label_attention_logits(
            query, key[None], value[None], output, own[None], planted, beta, product_dtype=product_dtype
        )
        for query, key, value, output, own, planted, beta in zip(*by_document, priors, strengths, strict=True)
    ]
    return torch.cat(found)


class _ChosenLabels(torch.autograd.Function):
    """One document after the other through the blocks, in threads."""

    @staticmethod
    def forward(ctx: Context[Rest], *arguments: Any) -> Tensor:
        """Takes the :data:`Tensors`, their labels' being the chosen ones, the documents' priors and the narrow type."""
        *tensors, priors, product_dtype = arguments
        documents = list(_documents(tensors, priors, product_dtype))
        with Threads(min(torch.get_num_threads(), len(documents))) as threads:
            found = threads.map(attended_values, documents)
        ctx.save_for_backward(*tensors, *(part for both in found for part in both))
        ctx.rest = priors, product_dtype
        return torch.stack([attended.sum(dim=0)[:, 0] for attended, _ in found])

    @staticmethod
    @once_differentiable
    def backward(ctx: Context[Rest], *arriving: Tensor) -> tuple[Tensor | None, ...]:
        """Gradients of queries, keys, values, outputs and strength."""
        tensors, kept = [*ctx.saved_tensors[:6]], ctx.saved_tensors[6:]
        documents = _documents(tensors, *ctx.rest)
        pull = arriving[0].to(tensors[0].dtype)[..., None]  # (B, M, 1)
        tasks = list(zip(documents, kept[::2], kept[1::2], pull, strict=True))
        with Threads(min(torch.get_num_threads(), len(tasks))) as threads:
            found = threads.map(lambda task: gradients_of(*task), tasks)
        to_queries, to_keys, to_values, to_outputs, to_strength = zip(*found, strict=True)
        by_label = [torch.stack(part).transpose(1, 2) for part in (to_queries, to_outputs)]
        betas = None if to_strength[0] is None else torch.stack(to_strength).transpose(1, 2)
        return by_label[0], torch.cat(to_keys), torch.cat(to_values), by_label[1], betas, None, None, None


def _documents(
    tensors: list[Any], priors: list[PriorLookup | None], product_dtype: torch.dtype | None
) -> Iterator[Operands]:
    queries, keys, values, outputs, strength, mask = tensors
    elements = _fitting_elements(mask.device)
    for document, prior in enumerate(priors):
        one = slice(document, document + 1)
        beta = None if strength is None else strength[document]
        own = queries[document], keys[one], values[one], outputs[document], beta, mask[one]
        yield _operands(own, prior, product_dtype, elements)
