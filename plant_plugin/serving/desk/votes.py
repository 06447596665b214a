"""What coders who have read the same document say together, and what they leave open."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence


def margins(labels: Sequence[Collection[str]]) -> dict[str, int]:
    """Return for each label that anybody gives by how many more it is given than not; 0: they are split."""
    given = Counter(label for each in labels for label in each)
    return {label: 2 * count - len(labels) for label, count in given.items()}
