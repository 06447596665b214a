"""What is known of the words of spans, of each span."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from plant_plugin.relevance.mutual_information import Floats


def values_of_spans(spans: npt.NDArray[np.int64], spoken: Floats, marked: Floats) -> Floats:
    """Return of spans (S, 2) of words highest and lowest ``spoken``, mean and lowest ``marked``, (S, 4)."""
    spoken, marked = (np.append(values, np.float32(0)) for values in (spoken, marked))  # a span may end at the last
    edges, length = spans.ravel(), (spans[:, 1] - spans[:, 0]).astype(np.float32)
    highest, lowest = (of.reduceat(spoken, edges)[::2] for of in (np.maximum, np.minimum))
    mean = np.add.reduceat(marked, edges)[::2] / length
    return np.stack([highest, lowest, mean, np.minimum.reduceat(marked, edges)[::2]], axis=1)
