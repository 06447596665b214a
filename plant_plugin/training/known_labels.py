"""Which labels a model knows: by a training document, or by a name alone."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from plant_plugin.training.open_labels import OpenScoring
from plant_plugin.training.scoring import Scoring


def known_labels(scoring: Scoring) -> npt.NDArray[np.bool_] | None:
    """Return which labels are known, (L,); None where only a test file was read.

    Where names open the label set, they make known also a label that only validation documents show.
    """
    counts = scoring.documents.train_counts
    if counts is None:
        return None
    known: npt.NDArray[np.bool_] = counts != 0
    return known | scoring.open_labels.by_name if isinstance(scoring, OpenScoring) else known
