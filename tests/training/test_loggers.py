"""What TensorBoard and Weights & Biases get beside metrics.csv."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from configurations import plant

from plant_plugin.config import Config
from plant_plugin.errors import MissingExtraError
from plant_plugin.report.metric_log import MetricLog, Place
from plant_plugin.training.loggers import logger_of

STAGES = {
    "stage1": [(Place("stage1", 1, 10, "train"), {"loss": 0.1})],
    "stage2": [
        (Place("stage2", 1, 10, "train"), {"loss": 1 / 3}),
        (Place("stage2", 1, 12, "val"), {"P@1": 0.5, "Loss": float("nan")}),
        (Place("stage2", 2, 20, "train"), {"loss": 0.2}),
    ],
}


def train(config: Config, folder: Path) -> None:
    log = MetricLog(folder, logger_of(config, folder))
    for stage, rows in STAGES.items():
        log.go_on(stage, 0)
        for place, metrics in rows:
            log.write(place, metrics)
    log.close()


def resume(config: Config, folder: Path) -> None:
    """As a run that has lost the last step of stage 2."""
    log = MetricLog(folder, logger_of(config, folder))
    log.go_on("stage2", 12)
    log.write(*STAGES["stage2"][-1])
    log.close()


def test_tensorboard_shows_each_step_once_after_resuming(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    config = plant(logger="tensorboard")
    train(config, tmp_path)
    resume(config, tmp_path)
    events = EventAccumulator(str(tmp_path / "tensorboard" / "stage2"))
    events.Reload()
    assert events.Tags()["scalars"] == ["train/loss", "val/P@1", "val/Loss"]
    loss = events.Scalars("train/loss")
    assert [event.step for event in loss] == [10, 20]
    assert [event.value for event in loss] == pytest.approx([1 / 3, 0.2])


@pytest.mark.integration  # its own server process starts and ends three times
def test_weights_and_biases_offline_continue_in_the_same_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("wandb", reason="wandb is not installed: pip install 'plant-plugin[wandb]'")
    monkeypatch.setenv("WANDB_MODE", "offline")
    for name in ("train", "test"):
        (tmp_path / f"{name}.txt").touch()
    files = {f"{name}_file": str(tmp_path / f"{key}.txt") for name, key in (("training", "train"), ("test", "test"))}
    config = plant(logger="wandb", **files, cache_dir=str(tmp_path / "cache"), silent=True)
    train(config, tmp_path)
    identity = (tmp_path / "wandb_id").read_text()
    resume(config, tmp_path)
    files_written = [path for path in (tmp_path / "wandb").rglob("*") if path.is_file()]
    logs = [path for path in files_written if path.suffix == ".wandb"]
    assert {path.stem for path in logs} == {f"run-{identity}"}
    content = b"".join(path.read_bytes() for path in files_written)
    assert b"stage2-train/loss" in content
    for path in (config.training_file, config.cache_dir):
        assert str(path).encode() not in content


@pytest.mark.parametrize("logger", ["tensorboard", "wandb"])
def test_a_missing_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, logger: str) -> None:
    for module in ("torch.utils.tensorboard", "wandb"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=rf"plant-plugin\[{logger}\]"):
        logger_of(plant(logger=logger), tmp_path)
