"""A small training file, and a configuration of it."""

from __future__ import annotations

from pathlib import Path

import pytest

CONFIG = """\
model_name: PLANT
training_file: {train}
val_size: 0
network_config: {{encoder: cnn}}
cache_dir: {cache}
"""


@pytest.fixture
def config_file(tmp_path: Path) -> str:
    train = tmp_path / "train.txt"
    lines = ["a b\tfever cough", "a\tfever chills", "b\tcough cough", "c\tankle", "a c\tfever ankle", "c\tankle cast"]
    train.write_text("\n".join(lines) + "\n", encoding="utf-8")
    path = tmp_path / "small.yml"
    path.write_text(CONFIG.format(train=train, cache=tmp_path / "cache"), encoding="utf-8")
    return str(path)
