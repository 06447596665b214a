"""What documents contribute, without the thousands of labels that only a name makes known and nothing has.

Shapes: N documents, L labels.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from plant_plugin.evaluation.per_document import PerDocument


def only_used(documents: PerDocument) -> PerDocument:
    """Leave out labels with the training count -1 that are neither true nor predicted nor among the best anywhere."""
    if documents.train_counts is None or not (documents.train_counts < 0).any():
        return documents
    number = len(documents.labels)
    used = np.append(documents.train_counts >= 0, True)  # the last: nothing was scored
    predicted = [pairs.indices for pairs in documents.predicted.values()]
    used[np.concatenate([documents.truth.indices, documents.top.ravel(), *predicted])] = True
    places, kept = np.cumsum(used) - 1, np.flatnonzero(used[:number])
    return replace(
        documents,
        labels=[documents.labels[column] for column in kept],
        truth=documents.truth[:, kept],
        top=places[documents.top],
        predicted={name: pairs[:, kept] for name, pairs in documents.predicted.items()},
        train_counts=documents.train_counts[kept],
    )
