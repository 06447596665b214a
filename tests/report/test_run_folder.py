"""The folder that a run makes, holds and leaves."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from configurations import plant

from plant_plugin.config import Config
from plant_plugin.errors import CheckpointError, Interrupted, PlantError
from plant_plugin.report.run_folder import FILE, own_folder


def named(folder: Path) -> Config:
    config = plant(result_dir=str(folder))
    return replace(config, run_name="run", checkpoint_dir=folder / "run")


def stop_after(folder: Path, file: str) -> None:
    with own_folder(named(folder)) as config:
        (config.checkpoint_dir / file).touch()
        raise KeyboardInterrupt


def test_two_runs_of_one_second_have_two_folders(tmp_path: Path) -> None:
    with own_folder(named(tmp_path)) as first, own_folder(named(tmp_path)) as second:
        assert (first.run_name, second.run_name) == ("run", "run_2")
        assert second.checkpoint_dir.is_dir()


@pytest.mark.parametrize(("file", "stays"), [(FILE, False), ("model.safetensors", True)])
def test_a_run_stopped_before_training_leaves_no_folder(tmp_path: Path, file: str, stays: bool) -> None:
    with pytest.raises(KeyboardInterrupt if stays else Interrupted):
        stop_after(tmp_path, file)
    assert (tmp_path / "run").exists() == stays


@pytest.mark.parametrize("stop", [KeyboardInterrupt(), PlantError("refused")])
def test_a_folder_that_is_removed_with_its_lock_is_no_lost_lock(
    tmp_path: Path, stop: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(PlantError, match=r"refused|nothing is left behind"), own_folder(named(tmp_path)):
        raise stop
    assert list(tmp_path.iterdir()) == []
    assert caplog.records == []


def test_a_folder_to_resume_has_to_be_there(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="nothing to resume"), own_folder(named(tmp_path).resumed(tmp_path / "x")):
        pass
