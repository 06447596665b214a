from __future__ import annotations

import errno
import os
from pathlib import Path

import numpy as np
import pytest

from plant_plugin.errors import PlantError
from plant_plugin.files import atomic_write


def write(path: Path, text: str, error: BaseException | None = None) -> None:
    with atomic_write(path) as temporary:
        temporary.write_text(text)
        if error is not None:
            raise error


def leftovers(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_file_appears_whole_with_missing_folders(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "scores.npz"
    with atomic_write(path) as temporary:
        assert temporary.parent == path.parent
        np.savez(temporary, x=np.arange(3))
        assert not path.exists()
    assert np.load(path)["x"].tolist() == [0, 1, 2]
    assert leftovers(path.parent) == ["scores.npz"]


@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt()])
def test_error_in_the_block_leaves_the_older_file(tmp_path: Path, error: BaseException) -> None:
    path = tmp_path / "result.json"
    path.write_text("old")
    with pytest.raises(type(error)):
        write(path, "new", error)
    assert path.read_text() == "old"
    assert leftovers(tmp_path) == ["result.json"]


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)),
        OSError(errno.EDQUOT, os.strerror(errno.EDQUOT)),
        OSError("1000 requested and 12 written"),
        RuntimeError("I/O error: No space left on device (os error 28)"),
    ],
)
def test_full_disk_is_said_in_words(tmp_path: Path, error: Exception) -> None:
    path = tmp_path / "result.json"
    with pytest.raises(PlantError, match=r"result\.json: the disk is full, nothing was written"):
        write(path, "half", error)
    assert leftovers(tmp_path) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full, which only Linux has")
def test_full_disk_for_real(tmp_path: Path) -> None:
    def fill(path: Path) -> None:
        with atomic_write(path) as temporary:
            temporary.symlink_to("/dev/full")
            temporary.write_text("x")

    with pytest.raises(PlantError, match="disk is full"):
        fill(tmp_path / "a")
    assert leftovers(tmp_path) == []


def test_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(PlantError, match="cannot be written"), atomic_write(tmp_path / "file" / "x.json"):
        pass  # pragma: no cover


def test_permission_denied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(source: Path, target: Path) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(source))

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(PlantError, match=r"x\.json: cannot be written \(Permission denied\)"):
        write(tmp_path / "x.json", "x")
    assert leftovers(tmp_path) == []


def test_errors_about_other_files_pass_through(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="elsewhere"), atomic_write(tmp_path / "x.json"):
        (tmp_path / "elsewhere").read_text()


def test_block_that_writes_nothing_is_a_programming_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), atomic_write(tmp_path / "x.json"):
        pass
