"""What was read in a text, kept while several questions about it follow each other: scores, names, explanations."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial, wraps
from typing import TypeVar

Owner = TypeVar("Owner")
Answer = TypeVar("Answer")

TEXTS = 64  # that are remembered: all of a usual batch, which scores are computed for one part after the other


def of_last_texts(method: Callable[[Owner, str], Answer]) -> Callable[[Owner, str], Answer]:
    """Let an object remember what a method of it returned for the last texts; nobody may change that."""
    name = f"_last_{method.__name__}"

    @wraps(method)
    def remembered(owner: Owner, text: str) -> Answer:
        kept: dict[str, Callable[[str], Answer]] = vars(owner)
        if name not in kept:
            kept[name] = lru_cache(TEXTS)(partial(method, owner))
        return kept[name](text)

    return remembered
