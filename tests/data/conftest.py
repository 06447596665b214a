from __future__ import annotations

from pathlib import Path

import pytest
from made_up_tokenizer import make_tokenizer


@pytest.fixture
def local_model(tmp_path: Path) -> Path:
    names = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    return make_tokenizer(tmp_path / "model", **names)
