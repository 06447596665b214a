from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from by_frequency import near_misses, recall_by_frequency

from plant_plugin.evaluation.per_document import PerDocument

LABELS = ["E11.9", "E11.2", "I10", "J45", "Z99"]


@pytest.fixture
def documents() -> PerDocument:
    truth = sp.csr_matrix(np.array([[1, 0, 1, 0, 1], [0, 1, 0, 1, 0]], np.float32))
    top = np.array([[0, 1, 2], [0, 2, 5]])  # 5: fewer were scored
    return PerDocument(LABELS, truth, top, {}, train_counts=np.array([1, 3, 30, 20, -1]))


def test_mentions_are_counted_by_how_often_training_shows_their_label(documents: PerDocument) -> None:
    assert recall_by_frequency(documents) == {
        "unseen": (0.0, 1), "1": (1.0, 1), "2–5": (0.0, 1), "6–20": (0.0, 1), "more": (1.0, 1),
    }  # fmt: skip


def test_a_wrong_label_is_near_where_its_category_is_true(documents: PerDocument) -> None:
    wrong, near = near_misses(documents)
    assert wrong == pytest.approx(3 / 5)  # E11.2 in the first; E11.9 and I10 in the second
    assert near == pytest.approx(2 / 3)
