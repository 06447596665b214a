from __future__ import annotations

from pathlib import Path

import pytest
import torch

from plant_plugin.errors import CheckpointError
from plant_plugin.report.logs import LOGS, read_logs
from plant_plugin.report.record import RUN_FILE
from plant_plugin.training.states import STATE_KEY, RequiredContent, is_whole, mend_logs, read_state, record_of

CONTENT = dict.fromkeys(RequiredContent.__required_keys__, 0)


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """A state of stage 2, in a run whose record and log are torn."""
    (tmp_path / "stage2").mkdir()
    path = tmp_path / "stage2" / "state-000000007.ckpt"
    torch.save({STATE_KEY: {**CONTENT, "config": "hash", "logs": {"val": [{"P@1": 0.5}]}}}, path)
    for name in (RUN_FILE, LOGS):
        (tmp_path / name).write_text("{")
    return path


def test_torn_files_of_a_run_are_mended_from_its_newest_state(state: Path) -> None:
    folder = state.parents[1]
    assert record_of(folder) == {"config_hash": "hash"}
    mend_logs(folder)
    assert read_logs(folder / LOGS)["val"] == [{"P@1": 0.5}]


def test_of_a_torn_state_nothing_is_read(state: Path) -> None:
    assert is_whole(state)
    content = bytearray(state.read_bytes())
    content[len(content) // 2] ^= 1
    state.write_bytes(content[: len(content) - 20])
    assert not is_whole(state)
    assert read_state(state) is None
    assert record_of(state.parents[1]) is None
    with pytest.raises(CheckpointError):
        mend_logs(state.parents[1])


def test_a_state_without_our_part_is_none(state: Path) -> None:
    torch.save({STATE_KEY: {"config": "hash"}}, state)
    assert is_whole(state)
    assert read_state(state) is None
