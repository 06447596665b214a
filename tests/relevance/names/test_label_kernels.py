from __future__ import annotations

import numpy as np

from plant_plugin.relevance.names.label_kernels import first_labels


def test_each_label_of_a_row_is_there_once_in_its_order() -> None:
    rows = np.array([[3, 3, 1, 2, 7], [5, 3, 5, -1, 9], [-1, -1, 4, 4, 4]], np.int32)
    assert first_labels(rows, 3).tolist() == [[3, 1, 2], [5, 3, -1], [-1, -1, -1]]
