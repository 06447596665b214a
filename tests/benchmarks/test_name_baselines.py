"""Programs of others that read names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from name_baselines import best_names, bm25, cached, cosines, parts, tokens
from zero_shot import Task

from plant_plugin.data.label_names import LabelName

NAMES = [LabelName("B", "heart failure"), LabelName("C", "kidney stone"), LabelName("B", "cardiac arrest")]
TASK = Task("d", "test", ["A stone was seen. Heart was fine.", "Cárdiac arrest at night."], ["B", "C", "D"], 3,
            sp.csr_array((2, 3), dtype=bool), NAMES)  # fmt: skip
COLUMNS = np.array([0, 1, 0])


def test_parts_of_a_text_are_sentences_and_long_ones_are_cut() -> None:
    assert parts("A stone. Heart was fine.") == ["A stone.", "Heart was fine."]
    assert [len(part.split()) for part in parts("word " * 130)] == [60, 60, 10]
    assert parts("") == [""]


def test_words_have_no_case_and_no_accents() -> None:
    assert tokens("Cárdiac ARREST, 2") == ["cardiac", "arrest", "2"]


def test_the_best_name_of_a_label_counts_and_none_is_no_proposal() -> None:
    assert best_names(np.array([1.0, 2, 3]), COLUMNS, 3).tolist() == [3, 2, -np.inf]


@pytest.mark.parametrize("by_sentence", [False, True])
def test_bm25(by_sentence: bool) -> None:
    pytest.importorskip("bm25s", reason="pip install bm25s")
    scores = bm25(TASK, [row.name for row in NAMES], COLUMNS, 3, by_sentence)
    assert scores[1].argmax() == 0
    assert scores[0, 1] > 0


def test_cosines_of_the_nearest_sentence_and_name_are_kept(tmp_path: Path) -> None:
    asked: list[str] = []

    def encode(texts: Sequence[str]) -> np.ndarray:
        asked.extend(texts)
        words = ("heart", "stone", "arrest")
        rows = np.array([[word in text.lower() for word in words] for text in texts], np.float32)
        return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1)

    for _ in range(2):
        encoder = cached(tmp_path, "made-up", encode)
        scores = cosines(TASK, [row.name for row in NAMES], COLUMNS, 3, (encoder, encoder))
    assert scores.tolist() == [[1, 1, -np.inf], [1, 0, -np.inf]]
    assert len(asked) == len(set(asked)) == 6
