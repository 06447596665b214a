"""Documents longer than a language model, cut into overlapping windows and joined again.

Shape key: **B** documents · **T** token positions · **W** windows of the whole batch.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


class Windows(NamedTuple):
    """Positions that each window reads, and the window that each position takes its state from."""

    document: Tensor  # (W,) int64, the document of each window
    position: Tensor  # (W, window) int64, the positions that a window reads; after the end, the last one
    inside: Tensor  # (W, window) bool, false after the end
    row: Tensor  # (B, T) int64, the window that a position takes its state from
    column: Tensor  # (B, T) int64, its place in that window

    def of(self, values: Tensor) -> Tensor:
        """Cut ``values`` (B, T) into windows (W, window); a mask is false after the end."""
        cut = values[self.document[:, None], self.position]
        return cut & self.inside if values.dtype == torch.bool else cut


def cut_into_windows(mask: Tensor, window: int, overlap: int, *, causal: bool = False) -> Windows:
    """Cut each document into as many windows as its length needs, so that neighbours in the batch change nothing.

    A position in an overlap is in two windows. It takes its state from the window in which it is farther from the edge;
    of a causal model from the earlier window, where more is to its left.

    The mask (B, T) is true on real tokens, which are all on the left. ``overlap``, the positions that neighbouring
    windows share, is below ``window``; ``causal`` states depend only on what is to the left.
    """
    positions, stride, device = mask.shape[1], window - overlap, mask.device
    needed = 1 + ((mask.sum(dim=1) - window).clamp(min=0) + stride - 1) // stride  # (B,) windows
    first = needed.cumsum(0) - needed
    document = torch.arange(len(mask), device=device).repeat_interleave(needed)  # (W,)
    number = torch.arange(len(document), device=device) - first[document]  # of the window within its document
    position = number[:, None] * stride + torch.arange(window, device=device)
    handed_over = overlap if causal else overlap // 2  # the part of an overlap that belongs to the earlier window
    place = torch.arange(positions, device=device)
    owner = ((place - handed_over).clamp(min=0) // stride).minimum(needed[:, None] - 1)  # (B, T)
    column = (place - owner * stride).clamp(max=window - 1)  # padding after the last window: any state
    return Windows(document, position.clamp(max=positions - 1), position < positions, first[:, None] + owner, column)
