from __future__ import annotations

from pathlib import Path

import pytest

from plant_plugin.errors import PlantError
from plant_plugin.report.promises import PROMISES, note_promises, read_promises
from plant_plugin.report.record import FIRST_PASS


def test_a_second_training_keeps_what_the_first_found_on_validation_documents(tmp_path: Path) -> None:
    assert read_promises(tmp_path) == {}
    (tmp_path / FIRST_PASS).mkdir()
    note_promises(tmp_path / FIRST_PASS, "val", {"promise 0.9": {"listed": 0.91}})
    assert read_promises(tmp_path) == {"val": {"promise 0.9": {"listed": 0.91}}}
    note_promises(tmp_path, "test", {"promise 0.9": {"listed": 0.93}})
    assert {*read_promises(tmp_path)} == {"val", "test"}
    assert {*read_promises(tmp_path / FIRST_PASS)} == {"val"}


def test_a_torn_file_is_named(tmp_path: Path) -> None:
    (tmp_path / PROMISES).write_text('{"val": 3}')
    with pytest.raises(PlantError, match=PROMISES):
        read_promises(tmp_path)
