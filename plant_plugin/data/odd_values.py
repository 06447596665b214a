"""What may be meant, but seldom is: said in a warning, and read as it is."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from plant_plugin.data.columns import Columns

logger = logging.getLogger(__name__)

NOTHING = frozenset({"", "nan", "none", "null", "n/a", "na", "<na>", "#n/a"})
NO_LABELS = frozenset({"nan", "none", "null", "n/a", "<na>", "#n/a", "and", "und", "et", "or", "&", "?", "-"})


def say_what_is_odd(texts: Sequence[str], labels: Sequence[Sequence[str]], where: str, columns: Columns) -> None:
    """Warn of texts and labels that say nothing, labels that seem to be ids, and a separator that no row has.

    Args:
        texts: Of the documents.
        labels: Of those that have some.
        where: The file.
        columns: What the user or training says of them.
    """
    if empty := sum(text.strip().lower() in NOTHING for text in texts):
        logger.warning(
            "%s: %s of %s texts are empty, or say only that they are", where, f"{empty:,}", f"{len(texts):,}"
        )
    if void := sum(label.lower() in NO_LABELS for each in labels for label in each):
        logger.warning("%s: %s labels are words such as `nan`, `none` or `and`: are they labels?", where, f"{void:,}")
    single = [each[0] for each in labels] if all(len(each) == 1 for each in labels) else []
    if len(single) > 2 and all(map(str.isdigit, single)):
        if len(set(single)) == len(single):
            logger.warning("%s: each label is a number that no other document has: are they ids?", where)
        elif set(single) == {"0", "1"}:
            logger.warning("%s: the only labels are 0 and 1: labels need names, and a column for all of them", where)
    elif len(single) > 1 and columns.after is None and (columns.separator or "").strip():
        logger.warning("%s: no document has two labels separated by %r", where, columns.separator)
