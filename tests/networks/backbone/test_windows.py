"""Windows over long documents against a literal version."""

from __future__ import annotations

import pytest
import torch

from plant_plugin.networks.backbone.windows import cut_into_windows


def literal_owner(length: int, window: int, overlap: int, causal: bool) -> list[tuple[int, int]]:
    """(start of the window, place in it) of each position, by looking at all windows that hold it."""
    starts = [0]
    while starts[-1] + window < length:
        starts.append(starts[-1] + window - overlap)
    found = []
    for position in range(length):
        holding = [start for start in starts if start <= position < start + window]
        if causal:
            best = holding[0]
        else:  # the farther from the edge that is shared, the better; of two as good, the later
            best = max(holding, key=lambda start: (min(position - start if start else window,
                       start + window - 1 - position if start != starts[-1] else window), start))  # fmt: skip
        found.append((best, position - best))
    return found


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("window", "overlap"), [(8, 0), (8, 2), (8, 4), (5, 4), (1, 0)])
def test_windows_are_those_of_the_literal_version(window: int, overlap: int, causal: bool) -> None:
    lengths = torch.tensor([30, 1, 8, 9, 17])
    mask = torch.arange(30) < lengths[:, None]
    windows = cut_into_windows(mask, window, overlap, causal=causal)
    text = torch.arange(5 * 30).view(5, 30)
    cut, inside = windows.of(text), windows.of(mask)
    for document, length in enumerate(lengths.tolist()):
        expected = literal_owner(length, window, overlap, causal)
        rows, columns = windows.row[document, :length], windows.column[document, :length]
        assert windows.document[rows].tolist() == [document] * length
        assert (windows.position[rows, 0]).tolist() == [start for start, _ in expected]
        assert columns.tolist() == [place for _, place in expected]
        torch.testing.assert_close(cut[rows, columns], text[document, :length])
        assert inside[rows, columns].all()
    needed = [1 if length <= window else 1 + -(-(length - window) // (window - overlap)) for length in lengths.tolist()]
    assert torch.bincount(windows.document).tolist() == needed
