"""Every metric written out as slowly and literally as its definition reads. For tests only."""

from __future__ import annotations

import math

import numpy as np


def ranking(scores: np.ndarray) -> list[int]:
    """Label ids, best first, ties by lower id; labels that were not scored (-inf) are not in the list."""
    return sorted((label for label in range(len(scores)) if scores[label] > -np.inf), key=lambda x: (-scores[x], x))


def per_document(scores: np.ndarray, truth: np.ndarray, k: int) -> dict[str, float]:
    true = {label for label in range(len(truth)) if truth[label]}
    top = ranking(scores)[:k]
    hits = sum(label in true for label in top)
    dcg = sum(1 / math.log2(place + 2) for place, label in enumerate(top) if label in true)
    ideal = sum(1 / math.log2(place + 2) for place in range(min(k, len(true))))
    return {
        "P": hits / k,
        "R": hits / len(true) if true else 0.0,
        "RP": hits / min(k, len(true)) if true else 0.0,
        "nDCG": dcg / ideal if true else 0.0,
    }


def ranked(scores: np.ndarray, truth: np.ndarray, k: int) -> dict[str, float]:
    values = [per_document(s, t, k) for s, t in zip(scores, truth, strict=True)]
    return {name: sum(value[name] for value in values) / len(values) for name in values[0]}


def propensity_scored(scores: np.ndarray, truth: np.ndarray, weights: np.ndarray, k: int) -> dict[str, float]:
    numerator = dict.fromkeys(("PSP", "PSnDCG", "PSR"), 0.0)
    denominator = dict(numerator)
    for row, true_row in zip(scores, truth, strict=True):
        true = [label for label in range(len(true_row)) if true_row[label]]
        if not true:
            continue
        ideal = sum(1 / math.log2(place + 2) for place in range(min(k, len(true))))
        reached = [(place, weights[label]) for place, label in enumerate(ranking(row)[:k]) if label in true]
        best = list(enumerate(sorted((weights[label] for label in true), reverse=True)[:k]))
        for total, gains in ((numerator, reached), (denominator, best)):
            total["PSP"] += sum(gain for _, gain in gains) / k
            total["PSnDCG"] += sum(gain / math.log2(place + 2) for place, gain in gains) / ideal
            total["PSR"] += sum(gain for _, gain in gains) / len(true)
    return {name: numerator[name] / denominator[name] for name in numerator}


def mean_average_precision(scores: np.ndarray, truth: np.ndarray) -> float:
    values = []
    for row, true_row in zip(scores, truth, strict=True):
        if not true_row.sum():
            continue
        total, hits = 0.0, 0
        for place, label in enumerate(ranking(row), start=1):
            if true_row[label]:
                hits += 1
                total += hits / place
        values.append(total / int(true_row.sum()))
    return sum(values) / len(values)


def classified(scores: np.ndarray, truth: np.ndarray, threshold: float) -> dict[str, float]:
    predicted = scores > threshold
    precision, recall, f1, f1_present = [], [], [], []
    all_tp = all_fp = all_fn = 0
    for label in range(truth.shape[1]):
        tp = fp = fn = 0
        for document in range(truth.shape[0]):
            if predicted[document, label]:
                tp, fp = (tp + 1, fp) if truth[document, label] else (tp, fp + 1)
            elif truth[document, label]:
                fn += 1
        all_tp, all_fp, all_fn = all_tp + tp, all_fp + fp, all_fn + fn
        precision.append(tp / (tp + fp) if tp + fp else 0.0)
        recall.append(tp / (tp + fn) if tp + fn else 0.0)
        f1.append(2 * tp / (2 * tp + fp + fn) if 2 * tp + fp + fn else 0.0)
        if tp + fn:
            f1_present.append(f1[-1])
    mean_p, mean_r = np.mean(precision), np.mean(recall)
    return {
        "Micro-P": all_tp / (all_tp + all_fp) if all_tp + all_fp else 0.0,
        "Micro-R": all_tp / (all_tp + all_fn) if all_tp + all_fn else 0.0,
        "Micro-F1": 2 * all_tp / (2 * all_tp + all_fp + all_fn) if all_tp + all_fp + all_fn else 0.0,
        "Macro-P": float(mean_p),
        "Macro-R": float(mean_r),
        "Macro-F1": float(np.mean(f1)),
        "Macro-F1-present": float(np.mean(f1_present)) if f1_present else float("nan"),
        "Macro-F1-caml": float(2 * mean_p * mean_r / (mean_p + mean_r)) if mean_p + mean_r else 0.0,
    }


def area(scores: np.ndarray, truth: np.ndarray) -> float:
    """Share of (true, false) pairs in the right order, equal scores half; NaN without both."""
    positive, negative = scores[truth > 0], scores[truth == 0]
    if not len(positive) or not len(negative):
        return float("nan")
    wins = sum(1.0 if p > n else 0.5 if p == n else 0.0 for p in positive for n in negative)
    return wins / (len(positive) * len(negative))


def macro_area(scores: np.ndarray, truth: np.ndarray) -> float:
    areas = [area(scores[:, label], truth[:, label]) for label in range(truth.shape[1])]
    return float(np.nanmean(areas))
