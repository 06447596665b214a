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

import torch
from torch import Tensor

from plant_plugin.networks.kernels.block_size import BLOCK_ELEMENTS, BLOCK_ELEMENTS_GPU
from plant_plugin.networks.kernels.label_attention_blocks import LabelAttention
from plant_plugin.networks.kernels.prior import PriorLookup
from plant_plugin.networks.kernels.triton_choice import takes_triton

NUMPY_TYPES = (torch.float32, torch.float64)  # the compiled loops take no narrower types

PLAIN_SCORES = 2**20  # (B·A·L·T), at most, of texts that are short
_plain: ContextVar[int] = ContextVar("_plain", default=0)

HALVINGS = 2  # at most: smaller blocks cost time and save little memory
_halved = 0


def halve_blocks() -> bool:
    """Halve the working buffers of all later calls; return False where they are as small as is useful."""
    global _halved
    if _halved >= HALVINGS:
        return False
    _halved += 1
    return True


@contextlib.contextmanager
def plain_where_short() -> Iterator[None]:
    """Let the reference compute short texts on a CPU, inside a `with`: it needs no compiling, which takes seconds.

    This is for predicting a few texts. Its sums round at other places, so that numbers differ in their last digits.
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
    """Compute :func:`label_attention_logits` with each tensor written out, for reading and for short texts."""
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
    """Return the logits of all labels without ever holding the weights of all labels.

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
    scores = queries.shape[:2].numel() * keys.shape[:2].numel()
    if scores <= _plain.get() and keys.device.type == "cpu" and product_dtype is None:
        return label_attention_reference(queries, keys, values, outputs, mask, prior, strength)
    marked = prior is not None and prior.marks is not None  # the Triton kernel reads one column a position
    elements = block_elements or _fitting_elements(queries.device)
    with torch.autocast(device_type=queries.device.type, enabled=False):
        kind = product_dtype or queries.dtype
        quicker = kind.itemsize == 2  # products of fp32 are torch's strength
        if queries.dtype != torch.float64 and not marked and takes_triton(queries.device, where_auto=quicker):
            from plant_plugin.networks.kernels.label_attention_triton import LabelAttentionTriton

            keys, values = keys.to(queries.dtype), values.to(queries.dtype)
            logits: Tensor = LabelAttentionTriton.apply(
                queries, keys, values, outputs, strength, mask, prior, kind, elements
            )
            return logits
        beta = None if strength is None else strength[None]
        tensors = queries[None], keys, values, outputs[None], beta, mask
        return _by_blocks(tensors, [prior], product_dtype, elements)


def _fitting_elements(device: torch.device) -> int:
    return (BLOCK_ELEMENTS if device.type == "cpu" else BLOCK_ELEMENTS_GPU) >> _halved


def _by_blocks(
    tensors: tuple[Tensor, Tensor, Tensor, Tensor, Tensor | None, Tensor],
    priors: list[PriorLookup | None],
    product_dtype: torch.dtype | None,
    block_elements: int,
) -> Tensor:
    """Return logits (B, L) of documents in groups of one size, each with labels (G, L, A, D) and a prior of its own."""
    queries, keys, values, outputs, strength, mask = tensors
    kind = queries.dtype
    if kind not in NUMPY_TYPES:
        priors = [
            None if prior is None else prior._replace(table=prior.dense().to(kind), entries=None) for prior in priors
        ]
    states, dtype = (keys.to(kind), values.to(kind)), product_dtype or kind
    by_head = [None if part is None else part.transpose(1, 2).contiguous() for part in (queries, outputs, strength)]
    logits: Tensor = LabelAttention.apply(by_head[0], *states, *by_head[1:], mask, priors, dtype, block_elements)
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
    """Return the logits (B, M) of chosen ``labels`` (B, M), as if picked from :func:`label_attention_logits`.

    Arguments are as there, but queries and outputs are (B, M, A, D) and strength (B, M, A). On a CPU threads share the
    documents, forward and backward: a single document is too small for two cores.
    """
    # one after the other: on a GPU each is a dense table
    priors = (None if prior is None else prior.at(document, labels[document]) for document in range(len(labels)))
    if queries.device.type == "cpu":
        tensors = queries, keys, values, outputs, strength, mask
        with torch.autocast(device_type="cpu", enabled=False):
            return _by_blocks(tensors, list(priors), product_dtype, _fitting_elements(queries.device))
    # unbind, not indexing: the backward pass then stacks gradients instead of adding up one batch per document
    by_document = [part.unbind() for part in (queries, keys, values, outputs, mask)]
    strengths = [None] * len(labels) if strength is None else strength.unbind()
    logits = [
        label_attention_logits(
            query, key[None], value[None], output, real[None], planted, beta, product_dtype=product_dtype
        )
        for query, key, value, output, real, planted, beta in zip(*by_document, priors, strengths, strict=True)
    ]
    return torch.cat(logits)
