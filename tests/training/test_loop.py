from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from plant_plugin.training.loop import BEST, newest_state
from plant_plugin.training.resume import STATE_KEY, RequiredContent


def write_state(folder: Path, step: int, **changes: Any) -> Path:
    content = {**dict.fromkeys(RequiredContent.__required_keys__, 0), "config": "hash", "step": step, "has_best": False}
    path = folder / f"state-{step:09d}.ckpt"
    torch.save({STATE_KEY: {**content, **changes}}, path)
    return path


def test_the_newest_state_of_the_same_configuration_counts(tmp_path: Path) -> None:
    write_state(tmp_path, 1)
    second = write_state(tmp_path, 2)
    other = write_state(tmp_path, 3, config="another")
    newest = newest_state(tmp_path, "hash")
    assert newest is not None
    assert (newest[0], newest[1]["step"]) == (second, 2)
    assert not other.exists()


@pytest.mark.parametrize("torn", ["state", "best"])
def test_what_is_torn_is_set_aside(tmp_path: Path, torn: str, caplog: pytest.LogCaptureFixture) -> None:
    first = write_state(tmp_path, 1)
    path = write_state(tmp_path, 2, has_best=torn == "best")
    if torn == "best":
        (tmp_path / BEST).write_bytes(b"half")
    else:
        path.write_bytes(path.read_bytes()[:100])
    newest = newest_state(tmp_path, "hash")
    assert newest is not None
    assert newest[0] == first
    assert path.with_suffix(".unusable").exists()
    assert "set aside" in caplog.text
