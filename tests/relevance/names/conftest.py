from __future__ import annotations

import named_notes
import pytest

from plant_plugin.relevance.names.open_labels import OpenLabels


@pytest.fixture(scope="package")
def fitted() -> OpenLabels:
    """Open labels of 120 made-up notes with evidence, which hold three labels in five of those that have names."""
    labels, train = named_notes.seen_labels(), named_notes.notes(named_notes.seen_labels(), 120, 1)
    return OpenLabels.fit(named_notes.names(), labels, train.texts, train.labels, train.evidence, None)
