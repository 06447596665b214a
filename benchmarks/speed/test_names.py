"""Names of labels in texts: growth with their number, and the nearest of them beside the product with all.

Names, words and towers are made up, of the sizes of ICD-10-CM: 70,000 names, 10,000 words.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from plant_plugin.data.label_names import LabelName
from plant_plugin.data.last_texts import TEXTS
from plant_plugin.relevance.names.candidates import COUNTS, Proposer
from plant_plugin.relevance.names.letter_towers import ROWS, SIZE, Towers
from plant_plugin.relevance.names.name_index import NameIndex
from plant_plugin.relevance.names.nearest import MOST, Block
from plant_plugin.relevance.names.open_labels import OpenLabels
from plant_plugin.relevance.names.span_detector import FEATURES, SpanDetector
from plant_plugin.relevance.names.trees import Trees

GROWTH = [8_750, 17_500, 35_000, 70_000]  # names
SPANS = 40  # of a text
WORDS = 350


def made_up(names: int) -> tuple[OpenLabels, list[str]]:
    """Open labels of so many names, a tenth of them seen, and texts of their words, more than are remembered."""
    random = np.random.default_rng(0)
    letters = random.integers(97, 123, (10_000, 8)).astype(np.uint8)
    words = [bytes(row[: 4 + number % 5]).decode() for number, row in enumerate(letters)]

    def drawn(number: int) -> str:
        return " ".join(words[place] for place in (random.zipf(1.3, number) - 1) % len(words))

    rows = [LabelName(f"L{number:05}", drawn(6), "en") for number in range(names)]
    index = NameIndex.of([(row.label, row.name) for row in rows])
    towers = Towers(torch.randn(ROWS, SIZE, generator=torch.Generator().manual_seed(0)))
    detector = SpanDetector(random.normal(0, 0.5, FEATURES).astype(np.float32), -4.0)
    counts = random.normal(size=(4000, COUNTS)).astype(np.float32)
    trees = Trees.fit(counts, counts[:, 0] > 1)
    seen = index.labels[::10]
    proposer = Proposer(index, {}, towers, detector)
    return OpenLabels(rows, seen, np.ones(len(seen), bool), proposer, trees, None), [
        drawn(WORDS) for _ in range(TEXTS + 1)
    ]


@pytest.mark.parametrize("names", GROWTH)
def test_growth(measure: Callable[..., Any], names: int) -> None:
    open_labels, texts = made_up(names)
    open_labels.propose(texts[-1])  # sorted into cells, and compiled once per machine

    def step() -> None:
        for text in texts:
            open_labels.propose(text)

    measure(f"what names say of {len(texts)} texts of {WORDS} words", "plant_plugin", step, along="M", size=names)


@pytest.mark.parametrize("way", ["product with all", "plant_plugin"])
def test_nearest_names(measure: Callable[..., Any], way: str) -> None:
    random = np.random.default_rng(0)
    centres = random.normal(size=(2_000, SIZE))  # names are like others of their chapter
    vectors, spans = (
        (centres[random.integers(0, 2_000, rows)] + 0.7 * random.normal(size=(rows, SIZE))).astype(np.float32)
        for rows in (GROWTH[-1], SPANS)
    )
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    spans /= np.linalg.norm(spans, axis=1, keepdims=True)
    block = Block.of(np.ones(len(vectors), bool), np.arange(len(vectors), dtype=np.int32), vectors)
    block.nearest(spans)

    def step() -> None:
        for _ in range(20):
            if way == "plant_plugin":
                block.nearest(spans)
            else:
                torch.topk(torch.from_numpy(spans) @ torch.from_numpy(vectors).T, MOST)

    measure(f"20 times the nearest names of {SPANS} spans (M={GROWTH[-1]:,})", way, step)
