"""metrics.csv, and what TensorBoard and Weights & Biases get beside it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from configurations import plant

from plant_plugin.config import Config
from plant_plugin.errors import MissingExtraError, PlantError
from plant_plugin.report.metric_log import MetricLog, Place, read_metrics

ROWS = [
    (Place("stage1", 1, 10, "train"), {"loss": 0.1}),
    (Place("stage1", 1, 12, "val"), {"attention-nDCG@10": 0.25}),
    (Place("stage2", 1, 10, "train"), {"loss": 1 / 3}),
    (Place("stage2", 1, 12, "val"), {"P@1": 0.5, "Loss": float("nan")}),
    (Place("stage2", 2, 20, "train"), {"loss": 0.2}),
]


def written(config: Config, folder: Path, rows: list[tuple[Place, dict[str, float]]] = ROWS) -> MetricLog:
    folder.mkdir(exist_ok=True)
    log = MetricLog(config, folder)
    for stage in ("stage1", "stage2"):
        log.go_on(stage, 0)
        for place, metrics in rows:
            if place.stage == stage:
                log.write(place, metrics)
    return log


def test_a_line_for_each_number(tmp_path: Path) -> None:
    log = written(plant(), tmp_path / "run")
    lines = log.path.read_text().splitlines()
    assert lines[:3] == ["stage,epoch,step,split,metric,value", "stage1,1,10,train,loss,0.1",
                         "stage1,1,12,val,attention-nDCG@10,0.25"]  # fmt: skip
    assert lines[5] == "stage2,1,12,val,Loss,nan"
    found = read_metrics(log.path)
    assert found[2] == (ROWS[2][0], "loss", 1 / 3)  # to the last bit
    assert len(found) == 6


@pytest.mark.parametrize(
    ("stage", "step"), [("stage1", 0), ("stage1", 10), ("stage1", 12), ("stage2", 0), ("stage2", 12), ("test", 0)]
)
def test_what_a_resumed_run_measures_again_is_forgotten(tmp_path: Path, stage: str, step: int) -> None:
    log = written(plant(), tmp_path / "run")
    rows = [*ROWS, (Place("test", 0, 0, "test"), {"P@1": 0.5})]
    log.write(*rows[-1])
    with open(log.path, "a") as stream:
        stream.write("stage2,3,30,tr")  # killed in the middle of a line
    log.go_on(stage, step)
    kept = [row for row in rows if row[0].stage != stage or 0 < row[0].step <= step]
    assert [place for place, *_ in read_metrics(log.path)] == [place for place, metrics in kept for _ in metrics]
    assert log.path.read_text().endswith("\n")


def test_lines_that_are_torn_are_passed_over(tmp_path: Path) -> None:
    log = written(plant(), tmp_path / "run")
    whole = log.path.read_bytes().splitlines(keepends=True)
    log.path.write_bytes(b"".join([*whole[:2], b"st\xff\0e2,1\n", b"stage9,1,1,val,P@1,0.5\n", *whole[3:]]))
    log.go_on("test", 0)
    assert log.path.read_bytes() == b"".join([*whole[:2], *whole[3:]])


def test_tensorboard_shows_each_step_once_after_resuming(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    config = plant(logger="tensorboard")
    written(config, tmp_path / "run").close()
    log = MetricLog(config, tmp_path / "run")
    log.go_on("stage2", 12)
    log.write(*ROWS[-1])
    log.close()
    events = EventAccumulator(str(tmp_path / "run" / "tensorboard" / "stage2"))
    events.Reload()
    assert events.Tags()["scalars"] == ["train/loss", "val/P@1", "val/Loss"]
    loss = events.Scalars("train/loss")
    assert [event.step for event in loss] == [10, 20]
    assert [event.value for event in loss] == pytest.approx([1 / 3, 0.2])


@pytest.mark.integration  # its own server process starts and ends twice
def test_weights_and_biases_offline_goes_on_in_the_same_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("wandb", reason="wandb is not installed: pip install 'plant-plugin[wandb]'")
    monkeypatch.setenv("WANDB_MODE", "offline")
    for name in ("train", "test"):
        (tmp_path / f"{name}.txt").touch()
    files = {f"{name}_file": str(tmp_path / f"{key}.txt") for name, key in (("training", "train"), ("test", "test"))}
    config = plant(logger="wandb", **files, cache_dir=str(tmp_path / "cache"), silent=True)
    written(config, tmp_path / "run").close()
    first = (tmp_path / "run" / "wandb_id").read_text()
    log = MetricLog(config, tmp_path / "run")
    log.go_on("stage2", 12)
    assert log._sink._written == 4  # type: ignore[union-attr]
    log.write(*ROWS[-1])
    log.close()
    found = [path for path in (tmp_path / "run" / "wandb").rglob("*") if path.is_file()]
    kept = [path for path in found if path.suffix == ".wandb"]
    assert [path.stem for path in kept] == 2 * [f"run-{first}"]
    content = b"".join(path.read_bytes() for path in found)
    assert b"stage2/train/loss" in content
    for path in (config.training_file, config.cache_dir):
        assert str(path).encode() not in content


@pytest.mark.parametrize("logger", ["tensorboard", "wandb"])
def test_a_missing_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, logger: str) -> None:
    for module in ("torch.utils.tensorboard", "wandb"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=rf"plant-plugin\[{logger}\]"):
        MetricLog(plant(logger=logger), tmp_path)


def test_a_folder_that_is_gone_is_said(tmp_path: Path) -> None:
    log = written(plant(), tmp_path / "run")
    log.path.unlink()
    log.path.parent.rmdir()
    with pytest.raises(PlantError, match=r"metrics\.csv"):
        log.write(*ROWS[0])
