"""Weights files whose bytes depend on nothing but their content."""

from __future__ import annotations

import json
from pathlib import Path

METADATA = "__metadata__"  # key of a header of safetensors


def order_metadata(path: Path) -> None:
    """Sort the metadata of a weights file by key, in place: safetensors writes them in another order each time."""
    with open(path, "r+b") as stream:
        size = int.from_bytes(stream.read(8), "little")
        header = json.loads(stream.read(size))
        header[METADATA] = dict(sorted(header[METADATA].items()))
        ordered = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
        stream.seek(8)
        stream.write(ordered.ljust(size))
