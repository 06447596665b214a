"""What columns of Arrow and Parquet say of themselves: names of their labels, and places that have to be true."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyarrow import RecordBatch, Schema


def whole_batch(batch: RecordBatch) -> RecordBatch:
    """Return a batch whose columns hold what they say: pyarrow believes the places of texts that a file states."""
    batch.validate(full=True)
    return batch


def class_names(schema: Schema, column: str | None) -> list[str]:
    """Return the names of a column's numbers, where Hugging Face's features have them; else nothing."""
    try:
        features = json.loads((schema.metadata or {}).get(b"huggingface", b"{}"))["info"]["features"][column]
        names = features.get("feature", features)["names"]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return []
    return [str(name) for name in names]
