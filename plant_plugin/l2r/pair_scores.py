"""Scores of a two-layer ranker for all pairs of tokens and labels, without ever holding its hidden layer for them.

Shape key: **U** tokens · **L** labels · **m** hidden units.

On a CPU each pair's units go through a core's registers once, and the backward pass leaves out the pairs that no
gradient reaches: with inattention most of them. Elsewhere torch computes blocks of tokens, and computes them again.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.utils.checkpoint import checkpoint

from plant_plugin.networks.kernels.passes import Context, on_threads, shares

BLOCK_ELEMENTS = 2**26  # (tokens, L, m) at once, off the CPU


def ranker_scores_reference(tokens: Tensor, labels: Tensor, weight: Tensor) -> Tensor:
    """Compute :func:`ranker_scores` with the hidden layer written out."""
    return (tokens[:, None] + labels).relu() @ weight


def ranker_scores(tokens: Tensor, labels: Tensor, weight: Tensor) -> Tensor:
    """Return scores (U, L): the sum over units of ``weight`` (m,) times ReLU(``tokens`` (U, m) + ``labels`` (L, m)).

    Source: first PLANT, equation 2 for L = 2 layers, whose first one is a sum of a token's and a label's part.
    """
    if tokens.device.type == "cpu":
        scores: Tensor = _Pairs.apply(tokens, labels, weight)
        return scores
    size = max(1, BLOCK_ELEMENTS // max(1, labels.numel()))
    parts = [checkpoint(ranker_scores_reference, part, labels, weight, use_reentrant=False)
             for part in tokens.split(size)]  # fmt: skip
    return torch.cat(parts)


class _Pairs(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Context[None], tokens: Tensor, labels: Tensor, weight: Tensor) -> Tensor:
        from plant_plugin.l2r.compiled import score_pairs

        operands = [part.detach().contiguous() for part in (tokens, labels, weight)]
        scores = tokens.new_empty(len(tokens), len(labels))
        token_array, label_array, weight_array = (part.numpy() for part in operands)

        def work(part: slice) -> None:
            score_pairs(token_array[part], label_array, weight_array, scores.numpy()[part])

        parts = shares(len(tokens), len(tokens))
        on_threads(work, parts, len(parts))
        ctx.save_for_backward(*operands)
        return scores

    @staticmethod
    @once_differentiable
    def backward(ctx: Context[None], *arriving: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        from plant_plugin.l2r.compiled import add_pair_gradients

        tokens, labels, weight = ctx.saved_tensors
        pull, to_tokens = arriving[0].contiguous(), torch.zeros_like(tokens)

        def work(part: slice) -> tuple[Tensor, Tensor]:
            totals = torch.zeros_like(labels), torch.zeros_like(weight)
            to_labels, to_weight = (total.numpy() for total in totals)
            operands = tokens[part].numpy(), labels.numpy(), weight.numpy()
            add_pair_gradients(*operands, pull[part].numpy(), to_tokens[part].numpy(), to_labels, to_weight)
            return totals

        parts = shares(len(tokens), len(tokens))
        of_labels, of_weight = zip(*on_threads(work, parts, len(parts)), strict=True)
        return to_tokens, torch.stack(of_labels).sum(dim=0), torch.stack(of_weight).sum(dim=0)
