from __future__ import annotations

import numpy as np
import torch

from plant_plugin.relevance.names.open_labels import OpenLabels
from plant_plugin.relevance.names.read_text import ReadText


def test_spans_know_what_is_marked_and_spoken_in_them(fitted: OpenLabels) -> None:
    found = fitted.proposer.index.find([], fitted.proposer.translated)
    marked, spoken = np.array([0.1, 0.9, 0.5], np.float32), np.array([0, 0.2, 0.4], np.float32)
    spans, vectors = np.array([[0, 2], [1, 3]]), np.eye(2, 4, dtype=np.float32)
    text = ReadText([(0, 1), (2, 3), (4, 5)], found, marked, spoken, spans, np.zeros(2, np.float32), vectors)
    np.testing.assert_allclose(text.of_spans, [[0.2, 0, 0.5, 0.1], [0.4, 0.2, 0.7, 0.5]], rtol=1e-6)
    names = torch.eye(3, 4)
    assert text.nearness(names).tolist() == [[1, 0, 0], [0, 1, 0]]
    assert text.nearness(names) is text.nearness(names)
