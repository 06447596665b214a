"""The same weights and metadata, the same bytes."""

from __future__ import annotations

from pathlib import Path

import torch
from safetensors.torch import load_file

from plant_plugin.model.folder import read_metadata, write_tensors

METADATA = {"vocabulary": 'é\u2028\x1b"', "labels": "a\\b", "c": "", "a": "1", "b": "2"}


def test_metadata_in_another_order_make_the_same_file(tmp_path: Path) -> None:
    tensors = {"w": torch.arange(5.0), "a": torch.ones(2, 3, dtype=torch.bfloat16)}
    written = set()
    for number in range(20):
        path = tmp_path / f"{number}.safetensors"
        write_tensors(path, tensors, dict(reversed(METADATA.items())) if number % 2 else METADATA)
        written.add(path.read_bytes())
    assert len(written) == 1
    assert read_metadata(path) == METADATA
    loaded = load_file(path)
    assert all(torch.equal(loaded[name], tensor) for name, tensor in tensors.items())
