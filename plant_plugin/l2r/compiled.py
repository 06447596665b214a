# mypy: allow-untyped-defs
"""The compiled loops of the ranker on a CPU; imported where they are first needed, because numba takes a while."""

from numba import njit

from plant_plugin.networks.kernels.compiled import REORDERED


@njit(nogil=True, cache=True, error_model="numpy", fastmath=REORDERED)
def score_pairs(tokens, labels, weight, scores):
    """Fill ``scores`` (U, L) as :func:`.pair_scores.ranker_scores` says: weight times the positive part of a pair."""
    for token in range(tokens.shape[0]):
        for label in range(labels.shape[0]):
            total = scores.dtype.type(0)
            for unit in range(len(weight)):
                total += weight[unit] * max(tokens[token, unit] + labels[label, unit], scores.dtype.type(0))
            scores[token, label] = total


@njit(nogil=True, cache=True, error_model="numpy", fastmath=REORDERED)
def add_pair_gradients(tokens, labels, weight, arriving, to_tokens, to_labels, to_weight):
    """Add the gradients of :func:`score_pairs` for ``arriving`` (U, L), which is mostly zero."""
    for token in range(tokens.shape[0]):
        for label in range(labels.shape[0]):
            pull = arriving[token, label]
            if pull != 0:
                for unit in range(len(weight)):
                    value = tokens[token, unit] + labels[label, unit]
                    part = pull * weight[unit] if value > 0 else pull * 0
                    to_tokens[token, unit] += part
                    to_labels[label, unit] += part
                    to_weight[unit] += pull * max(value, value * 0)
