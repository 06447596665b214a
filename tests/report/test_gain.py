"""What one result gains over another, also where they say other labels."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from plant_plugin.evaluation.metrics import Evaluator
from plant_plugin.evaluation.per_document import PerDocument
from plant_plugin.report.gain import gain_of, spelled

DOCUMENTS = 40


def result(hits: int, labels: list[str], true: int = 1, outside: int = 0) -> PerDocument:
    """Of each document the first labels are true; of ``hits`` they are ranked first, of others last."""
    truth = np.zeros((DOCUMENTS, len(labels)), np.float32)
    truth[:, :true] = 1
    scores = np.tile(np.arange(len(labels), 0, -1, dtype=np.float32), (DOCUMENTS, 1))
    scores[hits:, 0] = -1
    evaluator = Evaluator(
        len(labels), metrics=["MAP-gold", "nDCG@1"], outside=np.full(DOCUMENTS, outside), keep_documents=True
    )
    evaluator.update(scores, sp.csr_matrix(truth))
    return evaluator.per_document(labels)


def test_more_documents_ranked_right_are_a_gain_with_an_interval_around_it() -> None:
    gain = gain_of(result(30, ["a", "b", "c"]), result(10, ["a", "b", "c"]), "nDCG@1")
    assert gain.gain == pytest.approx(0.5)
    assert 0 < gain.low < 0.5 < gain.high < 1
    assert spelled(gain) == f"+50.0 ({100 * gain.low:.1f} to {100 * gain.high:.1f})"


def test_equal_results_gain_nothing() -> None:
    same = result(20, ["a", "b"])
    assert gain_of(same, same, "MAP-gold").gain == 0


def test_true_labels_that_one_result_cannot_say_count_against_it() -> None:
    more, fewer = result(DOCUMENTS, ["a", "new", "b"], true=2), result(DOCUMENTS, ["a", "b"], outside=1)
    assert gain_of(more, fewer, "MAP-gold").gain == pytest.approx(0.5)
