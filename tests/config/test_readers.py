from __future__ import annotations

from pathlib import Path

import pytest

from plant_plugin.config import registry
from plant_plugin.config.readers import has_places


def test_all_readers_of_text_have_places() -> None:
    assert {name: has_places(name) for name in registry.entries("readers")} == {
        name: name not in ("svm", "xmc") for name in registry.entries("readers")
    }
    assert has_places("no such reader")


@pytest.mark.parametrize(("argument", "places"), [("", True), (", vocab_file=None", False)])
def test_a_reader_of_ones_own_is_asked(
    argument: str, places: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = "my_features" if argument else "my_notes"
    (tmp_path / f"{module}.py").write_text(f"def read(path{argument}):\n    return None\n")
    (tmp_path / "mine.yaml").write_text(f"readers:\n  mine:\n    target: {module}:read\n    summary: Mine.\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(registry, "_USED", [])
    registry._read.cache_clear()
    registry.use(tmp_path / "mine.yaml")
    assert has_places("mine") is places
    monkeypatch.undo()
    registry._read.cache_clear()
