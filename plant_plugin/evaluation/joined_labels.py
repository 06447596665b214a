"""Two systems of other label sets under the union of these, for what compares them.

Shapes: N documents, L labels of the union.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from plant_plugin.evaluation.per_document import PerDocument

Documents = list[PerDocument]  # of the seeds of a system


def joined(ours: Sequence[PerDocument], theirs: Sequence[PerDocument]) -> tuple[Documents, Documents]:
    """Move both to the union of their labels; macro metrics are means over those that training showed to either."""
    labels = sorted({label for documents in (*ours, *theirs) for label in documents.labels})
    both = [[documents.under(labels) for documents in side] for side in (ours, theirs)]
    counts = [side[0].train_counts for side in both]
    if any(each is None for each in counts):
        return both[0], both[1]
    shown = np.max(counts, axis=0) >= 0  # type: ignore[arg-type]

    def known(documents: PerDocument) -> PerDocument:
        counts = np.maximum(documents.train_counts, 0)  # type: ignore[arg-type]
        return replace(documents, train_counts=np.where(shown, counts, -1))

    first, second = ([known(documents) for documents in side] for side in both)
    return first, second
