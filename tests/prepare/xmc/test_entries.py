from __future__ import annotations

from pathlib import Path

import pytest

from plant_plugin.errors import DataError
from plant_plugin.prepare.xmc.entries import objects, text_of


def test_objects_are_read_with_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"uid": "a"}\n[1]\n')
    entries = objects(path, "utf-8")
    assert next(entries) == (1, {"uid": "a"})
    with pytest.raises(DataError, match=r"a\.json, line 2: broken JSON, or no object"):
        next(entries)


@pytest.mark.parametrize("value", [3, ["a title"], {}, True])
def test_what_is_no_text_does_not_become_one(value: object) -> None:
    """A list of texts was once a text with brackets in it."""
    assert text_of({"title": "a"}, "title", "") == "a"
    assert text_of({"title": None}, "title", "") == text_of({}, "title", "") == ""
    with pytest.raises(DataError, match="line 4: the title is no text"):
        text_of({"title": value}, "title", "line 4")
