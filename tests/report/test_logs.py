"""logs.json, added to and shortened."""

from __future__ import annotations

from pathlib import Path

import pytest

from plant_plugin.errors import CheckpointError
from plant_plugin.report.logs import (
    LOGS,
    append_log,
    evaluations,
    logged_config,
    read_logs,
    shorten_log,
    without_config,
    write_log_config,
)


def test_a_resumed_run_writes_the_last_evaluations_again(tmp_path: Path) -> None:
    path = tmp_path / LOGS
    for value in (0.1, 0.2, 0.3):
        append_log(path, "val", {"P@1": value})
    append_log(path, "test", {"P@1": 0.4})
    write_log_config(path, {"test_file": "test.txt", "seed": 1})
    shorten_log(path, {"val": 2, "test": 0})
    logs = read_logs(path)
    assert [epoch["P@1"] for epoch in evaluations(logs, "val")] == [0.1, 0.2]
    assert list(without_config(logs)) == ["val"]
    assert logged_config(tmp_path)["test_file"] == "test.txt"


def test_a_folder_without_logs_says_nothing(tmp_path: Path) -> None:
    assert read_logs(tmp_path / LOGS) == logged_config(tmp_path) == {}


def test_a_torn_file_is_named(tmp_path: Path) -> None:
    (tmp_path / LOGS).write_text('{"val": [')
    with pytest.raises(CheckpointError, match=LOGS):
        read_logs(tmp_path / LOGS)
