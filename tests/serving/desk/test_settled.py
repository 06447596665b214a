"""Which labels count, and who gave them."""

from __future__ import annotations

from collections import Counter

import pytest

pytest.importorskip("sqlalchemy", reason="needs the extra: pip install 'plant-plugin[serve]'")

from plant_plugin.serving.desk.settled import SPLIT, settled
from plant_plugin.serving.desk.store import Desk


def test_more_than_half_of_the_coders_or_the_leads_word(coded: Desk) -> None:
    counts = Counter[str]()
    found = {number: labels for number, _, labels in settled(coded, counts)}
    assert [(one.label, [name for name, _ in one.by], one.spans) for one in found[1]] == [
        ("R05", ["ana", "berta"], [(11, 16)])
    ]
    assert [(one.label, [name for name, _ in one.by], one.spans) for one in found[2]] == [("R50", ["lea"], [(0, 5)])]
    assert counts == {SPLIT: 2}
