from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str], Path]:
    """Writes a configuration file."""

    def to_file(text: str) -> Path:
        path = tmp_path / "some.yml"
        path.write_text(text)
        return path

    return to_file
