"""Names beside a candidate: those of other labels at the same place of a text, and those nearest to its spans.

Shapes: S spans, M names, N candidates, F names found.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch

from plant_plugin.relevance.mutual_information import Floats, Small
from plant_plugin.relevance.names.index import WINDOW, Found, NameIndex

RUN = 16  # names that are looked at together
SLACK, FAR = 0.1, 20.0  # idf that counts as equal, and where there is no other name


def beside(
    index: NameIndex, found: Found, labels: Small, at: npt.NDArray[np.int64], total: Floats, cover: Floats
) -> tuple[Floats, Floats, Floats]:
    """Compare candidates with names of other labels near their places ``at``; all are (N,).

    How many hold as much idf there (its logarithm), how much more the best of them holds, and how much less is missing.
    """
    of_found, held = index.total[found.names], total * cover
    near = np.abs(found.places - at[:, None]) <= WINDOW // 2
    near &= index.of_label[found.names] != labels[:, None]
    as_much = near & (of_found * found.cover >= held[:, None] - SLACK)
    more = np.max(np.where(near, of_found * found.cover, 0), axis=1, initial=0) - held
    lowest = np.min(np.where(as_much, of_found * (1 - found.cover), FAR), axis=1, initial=FAR)
    return np.log1p(as_much.sum(axis=1)), more, total - held - lowest


def nearest_of(nearness: torch.Tensor, most: int) -> tuple[Floats, npt.NDArray[np.int64]]:
    """Return the highest values of each row (S, M) and their places, ``most`` or all of them, the highest first.

    Those are among the runs of names with the highest maxima, which are found sooner.
    """
    spans, names = nearness.shape
    whole = names // RUN * RUN
    if whole <= most * RUN:
        top = torch.topk(nearness, min(most, names))
        return top.values.numpy(), top.indices.numpy()
    runs = nearness[:, :whole].view(spans, -1, RUN).amax(dim=2).topk(most, sorted=False).indices
    places = (runs[:, :, None] * RUN + torch.arange(RUN)).flatten(1)
    places = torch.cat([places, torch.arange(whole, names).expand(spans, -1)], dim=1)
    top = nearness.gather(1, places).topk(most)
    return top.values.numpy(), places.gather(1, top.indices).numpy()


def first_different(labels: npt.NDArray[np.integer], most: int) -> npt.NDArray[np.int64]:
    """Return all labels that are among the first ``most`` different ones of a row."""
    rows = [list(dict.fromkeys(row))[:most] for row in labels.tolist()]
    return np.array(sorted({label for row in rows for label in row}), dtype=np.int64)
