"""Metrics that users' registries add: what each document adds above and below the line of a quotient.

Shape key: **B** documents of a batch · **N** documents · **L** labels.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from plant_plugin.errors import ConfigError
from plant_plugin.evaluation import names
from plant_plugin.evaluation.names import Metric


class AddedMetric:
    """One such metric, batch by batch.

    Its function is called with ``scores`` (B, L), float32 or, where only some are known, sparse, ``truth`` (B, L), 0/1
    and sparse, and ``k`` where it has that argument, the cut-off of the name. It returns (above, below), (B,) each: the
    metric is the sum of the first over all documents by that of the second.
    """

    def __init__(self, metric: Metric) -> None:
        self.name = metric.name
        self._compute = names.added()[metric.family].load()
        self._given = {"k": metric.k} if metric.k else {}
        self._found: list[npt.NDArray[np.float64]] = []

    def add(self, scores: npt.NDArray[np.float32] | sp.csr_matrix, truth: sp.csr_matrix) -> None:
        """Take a batch.

        Raises:
            ConfigError: The function returns something else than two numbers a document.
        """
        sides = self._compute(scores, truth, **self._given)
        try:
            above, below = (np.asarray(side, np.float64) for side in sides)
            right = above.shape == below.shape == (truth.shape[0],)
        except (TypeError, ValueError):
            right = False
        if not right:
            what, fix = "its function did not return two numbers a document", "return (above, below), (B,) each"
            raise ConfigError(what, where=f"metric {self.name}", fix=fix)
        self._found.append(np.column_stack([above, below]))

    def columns(self) -> npt.NDArray[np.float64]:
        """Return above and below of every document so far, (N, 2)."""
        return np.concatenate(self._found)

    def value(self) -> float:
        """Return the metric; NaN where nothing is below the line."""
        above, below = self.columns().sum(axis=0)
        return float(above / below) if below else float("nan")
