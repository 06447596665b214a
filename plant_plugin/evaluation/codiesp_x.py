"""CodiEsp-X, the explainability task of CodiEsp: codes of a case, each with the place that says so.

The rule: a pair of case and code is found where one of its predicted places holds one of the coders' places, and begins
at most ten characters before it and ends at most ten behind it. A place in several parts counts as one from its first
character to its last. Precision divides by the distinct pairs that were predicted, recall by the distinct pairs of the
coders, over all cases together; so further places of a predicted code cost nothing.

Source: Miranda-Escalada et al. 2020, Overview of automatic clinical coding: annotations, guidelines, and solutions for
non-English clinical cases at CodiEsp track of eHealth CLEF 2020; github.com/TeMU-BSC/codiesp-evaluation-script.

Shapes: D cases.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

TOLERANCE = 10  # characters that a predicted place may have too many on either side
Spans = Iterable[tuple[int, int]]
CaseCodes = Mapping[str, Spans]  # code -> places, of one case


def place_found(predicted: Spans, marked: Spans) -> bool:
    """Whether one of the predicted places holds one of the marked ones, closely enough."""
    wanted = list(marked)
    return any(
        0 <= start - first <= TOLERANCE and 0 <= last - end <= TOLERANCE
        for first, last in predicted
        for start, end in wanted
    )


def codiesp_x_counts(marked: Sequence[CaseCodes], predicted: Sequence[CaseCodes]) -> npt.NDArray[np.int64]:
    """Codes found with their place, codes predicted, codes marked, of each case, (D, 3).

    Upper and lower case tell codes apart; a code that is predicted without a place does not count.
    """
    counts = []
    for own, found in zip(marked, predicted, strict=True):
        placed = {code: list(spans) for code, spans in found.items()}
        hits = sum(place_found(spans, own[code]) for code, spans in placed.items() if code in own)
        counts.append((hits, sum(bool(spans) for spans in placed.values()), len(own)))
    return np.array(counts, dtype=np.int64).reshape(-1, 3)


def precision_recall_f1(counts: npt.NDArray[np.number]) -> tuple[float, float, float]:
    """Of the summed counts of cases, (3,) or (D, 3); 0/0 = 0."""
    hits, predicted, marked = (float(value) for value in np.atleast_2d(counts).sum(axis=0))
    return hits / max(predicted, 1), hits / max(marked, 1), 2 * hits / max(predicted + marked, 1)
