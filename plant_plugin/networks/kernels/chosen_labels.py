"""Label attention to the logits of chosen labels, each document its own: what a step of stage 2 gives a gradient to.

Shape key: as in :mod:`.label_attention`, and **M** chosen labels of a document.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from plant_plugin.networks.kernels.label_attention import PriorLookup, as_operands, label_attention_logits
from plant_plugin.networks.kernels.label_attention_blocks import Operands, attended_values, gradients_of
from plant_plugin.networks.kernels.threads import Threads


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
    """The same numbers as picking ``labels`` from :func:`.label_attention.label_attention_logits`.

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
        product_dtype: As in :func:`.label_attention.label_attention_logits`.

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
