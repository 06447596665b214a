"""Propensity scoring: hits on rare labels count more, because rare labels are the ones annotators miss.

Source: Jain, Prabhu and Varma, "Extreme multi-label loss functions for recommendation, tagging, ranking and other
missing label applications" (KDD 2016), as computed by pyxclib: ratios of *sums* over documents, not means of ratios.
Where pyxclib is installed it does the counting, elsewhere ``ranking.contributions`` does, to the same numbers.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
from collections.abc import Iterable
from types import ModuleType

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from plant_plugin.errors import ConfigError
from plant_plugin.evaluation import ranking
from plant_plugin.evaluation.names import Metric

Floats = npt.NDArray[np.float64]
HIGHEST_A = 10  # the papers have 0.5 to 0.6
XCLIB_NAMES = {"P": "precision", "PSP": "psprecision", "PSnDCG": "psndcg", "PSR": "psrecall"}


@functools.cache
def xclib_metrics() -> ModuleType | None:
    """Import pyxclib's; None where it is not installed or does not load."""
    try:
        if importlib.util.find_spec("xclib.evaluation") is None:
            return None
        return importlib.import_module("xclib.evaluation.xc_metrics")
    except ImportError:  # built for another numpy, or without its own dependencies
        return None


def inverse_propensities(label_counts: npt.ArrayLike, num_train: int, a: float = 0.55, b: float = 1.5) -> Floats:
    """Compute how much a hit on each label weighs.

    Args:
        label_counts: (L,) training documents that have each label.
        num_train: Training documents, at least 1.
        a: Exponent A, from 0 to 10; 0.5 for Wikipedia, 0.6 for Amazon data.
        b: Offset B, above 0; 0.4 for Wikipedia, 2.6 for Amazon data.

    Returns:
        (L,): ``1 + C (N_l + B)^-A`` with ``C = (ln N - 1) (B + 1)^A``; larger for rarer labels once N > e.

    Raises:
        ConfigError: No training documents, A out of its range, or B not above 0.
    """
    if num_train < 1 or not (0 < b < np.inf and 0 <= a <= HIGHEST_A):
        what = f"propensities are undefined for {num_train} training documents, A = {a} and B = {b}"
        fix = f"train on at least one document, keep propensity_a from 0 to {HIGHEST_A} and propensity_b above 0"
        raise ConfigError(what, where="propensity_b", fix=fix)
    counts = np.asarray(label_counts, np.float64).clip(0)
    scale = (np.log(num_train) - 1.0) * (b + 1.0) ** a
    return 1.0 + scale * (counts + b) ** -a


def weights_for(
    metrics: Iterable[Metric], label_counts: npt.ArrayLike | None, num_train: int | None, model: tuple[float, float]
) -> Floats | None:
    """Compute inverse propensities (L,) under A and B of the ``model``; None where no metric is propensity-scored."""
    if not any(metric.propensity_scored for metric in metrics):
        return None
    return inverse_propensities(() if label_counts is None else label_counts, num_train or 0, *model)


def ranked_metrics(top: npt.NDArray[np.int64], truth: sp.csr_matrix, weights: Floats | None) -> dict[str, Floats]:
    """Compute the ranked metrics of all documents at every cut-off up to K, by pyxclib as far as it has them.

    Returns:
        Family -> float64 (K,), of what :func:`.ranking.contributions` takes. Propensity-scored ones are 0 where no
        document has a label.
    """
    values = ranking.overall(ranking.contributions(top, truth, weights))
    xc_metrics = xclib_metrics() if truth.nnz else None
    if xc_metrics is not None:
        for family, name in XCLIB_NAMES.items():
            if family in values:
                weighing = () if family == "P" else (weights,)
                # The Cython top-k: the numba one takes seconds to compile in every process.
                options = {"k": top.shape[1], "sorted": True, "use_cython": True}
                computed = getattr(xc_metrics, name)(top, truth.copy(), *weighing, **options)
                values[family] = np.asarray(computed, np.float64)
    return values
