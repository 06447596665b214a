"""Areas under the ROC curve against scikit-learn."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import roc_auc_score

from plant_plugin.evaluation.roc import roc_areas
from plant_plugin.evaluation.store import ScoreStore


def test_areas_with_ties_are_scikit_learns() -> None:
    generator = np.random.default_rng(1)
    truth = generator.random((30, 5)) < 0.4
    truth[:, 4] = False
    scores = np.round(generator.standard_normal(truth.shape), 1).astype(np.float32)
    store = ScoreStore(5)
    store.append(scores[:20], sp.csr_matrix(truth[:20], dtype=np.float32))
    store.append(scores[20:], sp.csr_matrix(truth[20:], dtype=np.float32))
    areas, area = roc_areas(store)
    expected = [roc_auc_score(truth[:, label], scores[:, label]) for label in range(4)]
    np.testing.assert_allclose(areas, [*expected, np.nan])
    np.testing.assert_allclose(area, roc_auc_score(truth.ravel(), scores.ravel()))
    store.close()
