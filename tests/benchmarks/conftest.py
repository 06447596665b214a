"""The benchmarks are programs beside the package: found by their folders."""

from __future__ import annotations

import shutil
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest
import yaml
from made_up_runs import words, write_run

from plant_plugin.config.methods import read_configuration

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
sys.path[:0] = [str(BENCHMARKS), str(BENCHMARKS / "experiments")]


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with `plant_tiny.yml`, `linear_tiny.yml` and their files; the working folder."""
    monkeypatch.chdir(tmp_path)
    for name, count, seed in (("train", 150, 1), ("valid", 40, 2), ("test", 60, 3)):
        Path(f"{name}.txt").write_text("".join(words(count, seed)))
    content = read_configuration("plant_demo.yml")[0]
    content |= {"data_name": "tiny", "training_file": "train.txt", "val_file": "valid.txt", "test_file": "test.txt",
                "learning_rate": 0.01, "cache_dir": "cache", "cpu": True}  # fmt: skip
    content["network_config"] |= {"hidden_size": 16, "embed_dim": 16, "pool_size": 8, "filter_sizes": [3]}
    content["stage2"] |= {"hard_negatives": 5, "epochs": 2}
    Path("plant_tiny.yml").write_text(yaml.safe_dump(content))
    linear = read_configuration("linear_demo.yml")[0]
    linear |= {key: content[key] for key in ("data_name", "training_file", "val_file", "test_file")}
    Path("linear_tiny.yml").write_text(yaml.safe_dump(linear))
    return tmp_path


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """What would have been called; a call without `--resume` leaves a finished run."""
    seen: list[list[str]] = []

    def execute(words: list[str], trial: str | None) -> None:
        seen.append(words)
        if "--resume" in words:
            folder = Path(words[words.index("--resume") + 1])
            shutil.rmtree(folder)
            write_run(folder)
        else:
            write_run(Path(words[words.index("--result_dir") + 1]) / "run")

    monkeypatch.setattr("run.execute", execute)
    return seen


@pytest.fixture
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Runs are made here; their words."""
    import trials  # of the folder above

    seen: list[list[str]] = []

    def execute(words: list[str], trial: str | None) -> None:
        from plant_plugin.commands.train import libmultilabel

        seen.append(words)
        with getattr(trials, trial)() if trial else nullcontext():
            libmultilabel.main(words, standalone_mode=False)

    monkeypatch.setattr("run.execute", execute)
    return seen
