"""Texts whose labels have words of their own, and finished runs that nothing has run."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from plant_plugin.evaluation.metrics import Evaluator
from plant_plugin.report.result import plain, save_result

LABELS = [f"L{number:02d}" for number in range(20)]


def words(count: int, seed: int) -> list[str]:
    """Lines whose labels have words of their own; the later a label, the rarer."""
    random = np.random.default_rng(seed)
    odds = 1 / np.arange(1, len(LABELS) + 1)
    lines = []
    for _ in range(count):
        chosen = random.choice(len(LABELS), size=random.integers(1, 4), replace=False, p=odds / odds.sum())
        text = [f"filler{random.integers(30)}" for _ in range(12)] + [
            f"sign{label}{c}" for label in chosen for c in "xy"
        ]
        lines.append(" ".join(LABELS[label] for label in chosen) + "\t" + " ".join(random.permutation(text)) + "\n")
    return lines


def write_run(folder: Path, quality: float = 1.0, seed: int = 1, config_hash: str = "") -> None:
    """A finished run's folder."""
    truth = np.random.default_rng(5).random((40, len(LABELS))) < 0.2
    scores = np.random.default_rng(seed).standard_normal(truth.shape) + quality * truth
    evaluator = Evaluator(len(LABELS), train_label_counts=np.arange(len(LABELS)), num_train=150,
                          thresholds={"0.5": 0.0, "micro": 0.5, "macro": 0.4}, keep_documents=True)  # fmt: skip
    evaluator.update(scores, truth)
    result = {
        "dataset": "tiny", "seed": seed, "split": "test", "metrics": plain(evaluator.compute()),
        "counts": {**evaluator.counts, "dropped_labels": 0}, "time_s": {"total": 60.0}, "peak_memory_mb": {"total": 1},
        "hashes": {"test": "t", "labels": "l", "train": "n", "config": config_hash},
    }  # fmt: skip
    folder.mkdir(parents=True)
    save_result(folder / "result.json", result, evaluator.per_document(LABELS))
    logs = {"config": {"secret": "path"}, "stage1": [{"attention-nDCG@20": 0.25}], "val": [{"P@5": 0.5}], "test": [{}]}
    (folder / "logs.json").write_text(json.dumps(logs))
