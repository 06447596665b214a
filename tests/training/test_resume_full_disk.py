"""Runs whose disk takes no more: what is said, what is left, and that they go on to the same bytes.

The kernel refuses the bytes itself, through the limit on the size of files, so that every library fails in its own way.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file

from plant_plugin import files
from plant_plugin.config import Config
from plant_plugin.errors import FullDiskError
from plant_plugin.report import metric_log
from plant_plugin.training.resume import resume_newest
from plant_plugin.training.run import run

resource = pytest.importorskip("resource", reason="needs limits on the size of files")

Made = Callable[..., Config]
ROOM = 16  # bytes that a file gets before it is refused
# In the order of a run. The first state, after one step, is there when best.ckpt is refused.
FILES = (
    "state-000000001.ckpt", "best.ckpt", "state-000000004.ckpt", "metrics.csv", "stage2.safetensors", "vocabulary.json",
    "config.json", "model.safetensors", "per_document.npz", "result.json",
)  # fmt: skip


@contextlib.contextmanager
def refused(name: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No file of this name, or in a folder of it, gets longer than ``ROOM``; there is room when its half is gone."""
    before, remove = resource.getrlimit(resource.RLIMIT_FSIZE), files.remove

    def lowered(original: Callable[..., Any]) -> Callable[..., Any]:
        def call(path: Path, *rest: Any) -> Any:
            if name in (path.name, path.parent.name):
                resource.setrlimit(resource.RLIMIT_FSIZE, (ROOM, before[1]))
            return original(path, *rest)

        return call

    with monkeypatch.context() as patch:
        patch.setattr(files, "_beside", lowered(files._beside))
        patch.setattr(metric_log, "append", lowered(metric_log.append))
        patch.setattr(files, "remove", lambda path: (remove(path), resource.setrlimit(resource.RLIMIT_FSIZE, before)))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)


def goes_on_after(
    names: tuple[str, ...], made: Made, folder: Path, monkeypatch: pytest.MonkeyPatch, **given: Any
) -> None:
    """The disk is full at one file after the other; each time the run says so, and resumed it ends as if never cut."""
    whole = made(**given, result_dir=str(folder / "whole"))
    run(whole)
    for name in names:
        config = resume_newest(made(**given, resume="auto", result_dir=str(folder / "cut")))
        with refused(name, monkeypatch), pytest.raises(FullDiskError) as caught:
            run(config)
        error, run_folder = caught.value, config.checkpoint_dir
        assert re.search("the disk is full|ulimit -f", error.what), name
        assert str(error.where).endswith(name)
        assert "free some space" in str(error.fix)
        assert str(error.fix).endswith(f"--resume {run_folder}"), name
        assert [path for path in folder.rglob("*") if ".part" in path.name] == [], name
        assert not any(path.name == name and path.stat().st_size <= ROOM for path in run_folder.rglob("*")), name
    config = resume_newest(made(**given, resume="auto", result_dir=str(folder / "cut")))
    assert config.resume == str(run_folder)
    run(config)
    one, other = whole.checkpoint_dir, config.checkpoint_dir
    left, right = (load_file(path / "model.safetensors") for path in (one, other))
    assert [key for key, value in left.items() if value.numpy().tobytes() != right[key].numpy().tobytes()] == []
    results = [json.loads((path / "result.json").read_text()) for path in (one, other)]
    assert results[0]["metrics"] == results[1]["metrics"]
    assert (one / "metrics.csv").read_bytes() == (other / "metrics.csv").read_bytes()


SHORT = {
    "strategy": "end_to_end", "stage2__epochs": 2, "limit_train_batches": 2, "limit_val_batches": 1,
    "limit_test_batches": 1, "val_metric": "Loss",
}  # fmt: skip


def test_at_states_weights_and_results(made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    goes_on_after(("best.ckpt", "state-000000004.ckpt", "model.safetensors"), made, tmp_path, monkeypatch, **SHORT)


@pytest.mark.integration
def test_at_every_file(made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    goes_on_after(FILES, made, tmp_path, monkeypatch, **SHORT)


@pytest.mark.integration
def test_at_the_files_of_a_language_model(
    made: Made, tmp_path: Path, tiny_language_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    network = {"lm_weight": str(tiny_language_model), "num_heads": 2, "pool_size": 8}
    goes_on_after(("backbone", "tokenizer"), made, tmp_path, monkeypatch, network_config=network, **SHORT)


@pytest.mark.parametrize("name", ["run.json", "relevance.npz"])
def test_a_run_that_has_nothing_to_keep_leaves_nothing(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    with refused(name, monkeypatch), pytest.raises(FullDiskError) as caught:
        run(made())
    assert "--resume" not in str(caught.value.fix)
    assert list((tmp_path / "runs").iterdir()) == []


def test_a_cache_that_finds_no_room_is_not_kept(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    config = made(**SHORT)
    with refused("tokens", monkeypatch):
        run(config)
    assert "The token cache is not kept" in caplog.text
    assert list((tmp_path / "cache" / "tokens").iterdir()) == []
