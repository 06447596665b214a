"""Names beside a candidate: those of other labels at the same place of a text, and those nearest to its spans.

Shapes: S spans, M names, N candidates, F names found.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from plant_plugin.relevance.mutual_information import Floats, Small
from plant_plugin.relevance.names.name_index import WINDOW, Found, NameIndex

SLACK, FAR = 0.1, 20.0  # idf that counts as equal, and where there is no other name


def beside(
    index: NameIndex, found: Found, labels: Small, at: npt.NDArray[np.int64], total: Floats, cover: Floats
) -> tuple[Floats, Floats, Floats]:
    """Compare candidates with names of other labels near their places ``at``; all are (N,).

    How many hold as much idf there (its logarithm), how much more the best of them holds, and how much less is missing.
    """
    from plant_plugin.relevance.names.compiled import rivals_at

    order = np.argsort(found.places, kind="stable")
    names, held = found.names[order], total * cover
    totals = index.total[names]
    there = totals * found.cover[order]
    parts = (found.places[order], index.of_label[names], totals, there, labels, at, held)
    count, more, lowest = rivals_at(*parts, np.float32(SLACK), np.float32(FAR), WINDOW // 2)
    return np.log1p(count), more - held, total - held - lowest


def first_different(labels: npt.NDArray[np.integer], most: int) -> npt.NDArray[np.int64]:
    """Return all labels that are among the first ``most`` different ones of a row; from -1 on there is none."""
    from plant_plugin.relevance.names.compiled import first_labels

    first = np.unique(first_labels(labels, most)).astype(np.int64)
    return first[first >= 0]
