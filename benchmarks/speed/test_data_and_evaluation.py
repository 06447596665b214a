"""Batches and metrics against LibMultiLabel's data loader and metrics, at the sizes of EURLEX-6K and MIMIC-III."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from libmultilabel.nn.metrics import get_metrics
from test_network import BATCH, DOCUMENTS, LABELS, LONGEST, ours, theirs

from plant_plugin.data.words import BREAK, LETTER, without_spaces
from plant_plugin.evaluation.metrics import Evaluator

SCORED, CODES, OF_A_DOCUMENT = 512, 8_930, 15.8  # MIMIC-III's labels, a part of its test documents
NAMES = ["P@1", "P@5", "R@5", "RP@5", "nDCG@5", "Micro-F1", "Macro-F1"]


@pytest.mark.parametrize("way", ["LibMultiLabel", "plant_plugin"])
def test_batches(measure: Callable[..., Any], way: str) -> None:
    batches = ours(shuffle=True) if way == "plant_plugin" else theirs(shuffle=True)

    def step() -> None:
        for _ in batches:
            pass

    step()
    measure(f"an epoch's batches: {DOCUMENTS} documents in {BATCH}s, T≤{LONGEST}, L={LABELS:,}", way, step)


@pytest.mark.parametrize("way", ["LibMultiLabel", "plant_plugin"])
def test_evaluation(measure: Callable[..., Any], way: str) -> None:
    random = np.random.default_rng(0)
    truth = (random.random((SCORED, CODES)) < OF_A_DOCUMENT / CODES).astype(np.int64)
    scores = (random.standard_normal(truth.shape) + 3 * truth - 3).astype(np.float32)
    sparse = sp.csr_array(truth)
    parts = [slice(start, start + BATCH) for start in range(0, SCORED, BATCH)]

    def step() -> None:
        if way == "plant_plugin":
            evaluator = Evaluator(CODES, metrics=NAMES)
            for part in parts:
                evaluator.update(scores[part], sparse[part])
            evaluator.compute()
            return
        metrics = get_metrics(0.5, NAMES, CODES)
        for part in parts:
            metrics.update(torch.sigmoid(torch.from_numpy(scores[part])), torch.from_numpy(truth[part]))
        metrics.compute()

    step()
    measure(f"evaluation, batches of {BATCH}: {len(NAMES)} metrics, {SCORED} documents, L={CODES:,}", way, step)


@pytest.mark.parametrize("way", ["one character after the other", "plant_plugin"])
def test_scripts(measure: Callable[..., Any], way: str) -> None:
    texts = ["The kidney's bigger cyst, 4 cm, was drained; creatinine fell to 1.1. " * 50] * 200

    def step() -> None:
        if way == "plant_plugin":
            without_spaces(texts)
            return
        sample = "\n".join(texts)
        sum(character.isalpha() for character in sample)
        [len(LETTER.findall(part)) for part in BREAK.split(sample)]

    step()
    measure(f"whether texts have spaces between words: {len(texts)} texts of 550 words", way, step)
