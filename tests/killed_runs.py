"""Runs that are killed at a call, and whether two runs left the same bytes."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from safetensors.torch import load_file

from plant_plugin.config import Config
from plant_plugin.training.run import run


def dies_at(owner: Any, name: str, call: int) -> None:
    """Let this process die as by ``kill -9`` at the n-th call of a function."""
    original, calls = getattr(owner, name), []

    def count(*args: Any, **kwargs: Any) -> Any:
        calls.append(1)
        if len(calls) == call:
            os.kill(os.getpid(), signal.SIGKILL)
        return original(*args, **kwargs)

    setattr(owner, name, count)


def killed_at(config: Config, owner: Any, name: str, call: int) -> None:
    """Run until the n-th call of a function, then die."""
    dies_at(owner, name, call)
    run(config)


def in_process(function: Callable[..., Any], *args: Any) -> Any:
    process = multiprocessing.get_context("fork").Process(target=function, args=args)
    process.start()
    return process


def same_weights(one: Path, other: Path) -> None:
    """The order of a file's metadata is no matter."""
    left, right = (load_file(folder / "model.safetensors") for folder in (one, other))
    assert left.keys() == right.keys()
    assert [name for name, tensor in left.items() if tensor.numpy().tobytes() != right[name].numpy().tobytes()] == []


def same_bytes(one: Path, other: Path) -> None:
    same_weights(one, other)
    numbers = [json.loads((folder / "result.json").read_text()) for folder in (one, other)]
    for key in ("metrics", "thresholds", "counts"):
        assert numbers[0][key] == numbers[1][key], key
    logs = [json.loads((folder / "logs.json").read_text()) for folder in (one, other)]
    for split in ("stage1", "val", "test"):
        assert logs[0].get(split) == logs[1].get(split), split
    assert (one / "metrics.csv").read_bytes() == (other / "metrics.csv").read_bytes()
