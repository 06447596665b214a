from __future__ import annotations

import os
from pathlib import Path

import pytest

from plant_plugin.errors import CheckpointError
from plant_plugin.model.folder import read_content, read_labels
from plant_plugin.model.plain_files import check_plain

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="a system without pipes")


@pytest.mark.parametrize("name", ["labels.txt", "config.json", "thresholds.json", "anything"])
def test_pipes_and_devices_are_not_waited_for(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)
    for read in (check_plain, read_content, read_labels):
        with pytest.raises(CheckpointError, match="neither a file nor a folder"):
            read(tmp_path)
    (tmp_path / name).unlink()
    (tmp_path / name).symlink_to("/dev/zero")
    with pytest.raises(CheckpointError, match="neither a file nor a folder"):
        read_labels(tmp_path)


def test_files_folders_and_links_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a")
    (tmp_path / "b").mkdir()
    (tmp_path / "c").symlink_to(tmp_path / "a")
    (tmp_path / "d").symlink_to("nowhere")
    check_plain(tmp_path)
