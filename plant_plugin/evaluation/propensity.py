"""Propensity scoring: hits on rare labels count more, because rare labels are the ones annotators miss.

Source: Jain, Prabhu and Varma, "Extreme multi-label loss functions for recommendation, tagging, ranking and other
missing label applications" (KDD 2016), as computed by pyxclib: ratios of *sums* over documents, not means of ratios.
Where pyxclib is installed it does the counting, elsewhere this module does, to the same numbers.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from plant_plugin.errors import ConfigError
from plant_plugin.evaluation.ranking import discounts, ideal_gains

Floats = npt.NDArray[np.float64]


@functools.cache
def xclib_metrics() -> Any | None:
    """The metrics module of pyxclib, or None where it is not installed or does not load."""
    try:
        if importlib.util.find_spec("xclib.evaluation") is None:
            return None
        return importlib.import_module("xclib.evaluation.xc_metrics")
    except ImportError:  # built for another numpy, or without its own dependencies
        return None


def inverse_propensities(label_counts: npt.ArrayLike, num_train: int, a: float = 0.55, b: float = 1.5) -> Floats:
    """How much a hit on each label weighs.

    Args:
        label_counts: (L,) training documents that have each label.
        num_train: Training documents, at least 1.
        a: Exponent A; 0.55 by default, 0.5 for Wikipedia, 0.6 for Amazon data.
        b: Offset B, above 0; 1.5 by default, 0.4 for Wikipedia, 2.6 for Amazon data.

    Returns:
        float64 (L,): ``1 + C (N_l + B)^-A`` with ``C = (ln N - 1) (B + 1)^A``; larger for rarer labels once N > e.

    Raises:
        ConfigError: No training documents, or B not above 0.
    """
    if num_train < 1 or not b > 0:
        raise ConfigError(
            f"propensities are undefined for {num_train} training documents and B = {b}",
            where="propensity_b",
            fix="train on at least one document and keep propensity_b above 0",
        )
    counts = np.asarray(label_counts, dtype=np.float64)
    scale = (np.log(num_train) - 1.0) * (b + 1.0) ** a
    return 1.0 + scale * (counts + b) ** -a


def propensity_scored(
    top: npt.NDArray[np.int64], hits: npt.NDArray[np.bool_], truth: sp.csr_matrix, weights: Floats
) -> dict[str, Floats]:
    """PSP, PSnDCG and PSR at every cut-off up to K.

    Args:
        top: (N, K) label ids, best first; L where fewer labels were scored.
        hits: (N, K) whether that label is true.
        truth: 0/1 (N, L).
        weights: (L,) inverse propensities.

    Returns:
        ``PSP``, ``PSnDCG``, ``PSR`` -> float64 (K,), element k-1 for cut-off k. 0 where no document has a label.
    """
    if not truth.nnz:
        return {family: np.zeros(top.shape[1]) for family in ("PSP", "PSnDCG", "PSR")}
    xc_metrics = xclib_metrics()
    if xc_metrics is not None:
        names = {"PSP": "psprecision", "PSnDCG": "psndcg", "PSR": "psrecall"}
        return {
            family: np.asarray(
                # The Cython top-k: the numba one takes seconds to compile in every process.
                getattr(xc_metrics, name)(top, truth.copy(), weights, k=top.shape[1], sorted=True, use_cython=True),
                dtype=np.float64,
            )
            for family, name in names.items()
        }
    return builtin_propensity_scored(top, hits, truth, weights)


def builtin_propensity_scored(
    top: npt.NDArray[np.int64], hits: npt.NDArray[np.bool_], truth: sp.csr_matrix, weights: Floats
) -> dict[str, Floats]:
    """The same as ``propensity_scored`` without pyxclib."""
    cutoffs = top.shape[1]
    gained = np.append(weights, 0.0)[top] * hits  # (N, K)
    best = ideal_gains(truth, weights, cutoffs)  # (N, K)
    num_true = np.diff(truth.indptr)
    discount = discounts(cutoffs)
    ideal = np.cumsum(discount)[np.minimum(num_true[:, None].clip(1), np.arange(1, cutoffs + 1)) - 1]  # (N, K)
    per_label = 1.0 / num_true.clip(1)[:, None]

    def ratio(numerator: Floats, denominator: Floats) -> Floats:
        return np.asarray(numerator.sum(axis=0) / denominator.sum(axis=0))

    gained_sum, best_sum = gained.cumsum(axis=1), best.cumsum(axis=1)
    return {
        "PSP": ratio(gained_sum, best_sum),
        "PSnDCG": ratio((gained * discount).cumsum(axis=1) / ideal, (best * discount).cumsum(axis=1) / ideal),
        "PSR": ratio(gained_sum * per_label, best_sum * per_label),
    }


def precision(top: npt.NDArray[np.int64], hits: npt.NDArray[np.bool_], truth: sp.csr_matrix) -> Floats:
    """P@k at every cut-off up to K, float64 (K,); by pyxclib where installed. Arguments as ``propensity_scored``."""
    xc_metrics = xclib_metrics()
    cutoffs = top.shape[1]
    if xc_metrics is not None and truth.nnz:
        found = xc_metrics.precision(top, truth.copy(), k=cutoffs, sorted=True, use_cython=True)
        return np.asarray(found, dtype=np.float64)
    return np.asarray(hits.cumsum(axis=1).mean(axis=0) / np.arange(1, cutoffs + 1))
