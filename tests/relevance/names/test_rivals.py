from __future__ import annotations

import numpy as np
import pytest

from plant_plugin.relevance.names.name_index import NameIndex, stems_of
from plant_plugin.relevance.names.rivals import FAR, beside, first_different
from plant_plugin.relevance.names.translation import Translated


def test_each_row_gives_its_first_different_labels() -> None:
    assert first_different(np.array([[3, 3, 1, 2], [5, 3, 3, -1]]), 2).tolist() == [1, 3, 5]
    assert first_different(np.array([[-1, -1]]), 2).tolist() == []


def test_a_name_is_compared_with_those_of_other_labels_at_its_place() -> None:
    rows = [("K1", "rupture spleen"), ("K2", "rupture spleen child"), ("K3", "oedema larynx")]
    index = NameIndex.of(rows)
    found = index.find(stems_of(f"rupture of spleen {'x ' * 30} oedema larynx"), Translated(index.stems, {}))
    labels = index.of_label[found.names]
    total = index.total[found.names]
    as_much, more, less = beside(index, found, labels, found.places.astype(np.int64), total, found.cover)
    of = {int(label): row for row, label in enumerate(labels)}
    assert as_much[of[0]] == pytest.approx(np.log(2))  # the other one holds the same words
    assert as_much[of[2]] == 0
    assert less[of[2]] == pytest.approx(-FAR)
    assert less[of[1]] > less[of[0]]  # of the longer name a word is missing
    assert more[of[0]] == pytest.approx(0, abs=1e-5)
