"""What coders who have read the same document say together, and what they leave open."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import TypeVar

Said = TypeVar("Said")


def weighty(by: Sequence[tuple[bool, Said]]) -> list[Said]:
    """Return what counts of all that was said: of leads (True) where one has spoken, else of everybody."""
    return [said for lead, said in by if lead] or [said for _, said in by]


def margins(labels: Sequence[Collection[str]]) -> dict[str, int]:
    """Return for each label that anybody gives by how many more it is given than not; 0: they are split."""
    given = Counter(label for each in labels for label in each)
    return {label: 2 * count - len(labels) for label, count in given.items()}
