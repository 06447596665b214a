"""run.json, read and added to."""

from __future__ import annotations

from pathlib import Path

from plant_plugin.report.record import (
    RUN_FILE,
    note_cost,
    note_of_stage,
    read_run_record,
    skipped_steps,
    write_run_record,
)


def test_stages_add_what_they_know(tmp_path: Path) -> None:
    write_run_record(tmp_path, {"config_hash": "c"})
    for stage, steps in (("stage1", 2), ("stage2", 3)):
        note_of_stage(tmp_path, "skipped_steps", stage, steps)
    note_cost(tmp_path, {"time_s": {"total": 1.0}})
    assert read_run_record(tmp_path) == {
        "config_hash": "c", "skipped_steps": {"stage1": 2, "stage2": 3}, "cost": {"time_s": {"total": 1.0}},
    }  # fmt: skip
    assert skipped_steps(tmp_path) == {"skipped_steps": 5}


def test_a_record_that_is_torn_or_not_there_is_none(tmp_path: Path) -> None:
    assert read_run_record(tmp_path) is None
    (tmp_path / RUN_FILE).write_text("{")
    assert read_run_record(tmp_path) is None
    note_cost(tmp_path, {})  # nothing to add to
    assert skipped_steps(tmp_path) == {}
