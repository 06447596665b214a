from __future__ import annotations

import errno
import os
import stat
import threading
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from plant_plugin.errors import CheckpointError, FullDiskError, PlantError
from plant_plugin.files import (
    atomic_folder,
    atomic_write,
    cache_folder,
    cached,
    locked,
    private_files,
    read_json,
    reserve,
    write_text,
)


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


def test_what_is_written_is_on_the_disk_before_its_name_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A power cut leaves the old file or the new one: content, then name, then the folder that holds the name."""
    done: list[str] = []
    fsync, replace = os.fsync, os.replace

    def flushed(number: int) -> None:
        done.append("flush " + ("folder" if stat.S_ISDIR(os.fstat(number).st_mode) else "file"))
        fsync(number)

    def renamed(source: Path, target: Path) -> None:
        done.append("rename")
        replace(source, target)

    monkeypatch.setattr(os, "fsync", flushed)
    monkeypatch.setattr(os, "replace", renamed)
    write_text(tmp_path / "one.json", "{}")
    assert done == ["flush file", "rename", "flush folder"]
    done.clear()
    with atomic_folder(tmp_path / "model") as folder:
        (folder / "a").write_text("a")
        (folder / "b").write_text("b")
    assert done == ["flush file", "flush file", "flush folder", "rename", "flush folder"]


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)),
        OSError(errno.EDQUOT, os.strerror(errno.EDQUOT)),
        OSError("1000 requested and 12 written"),
        RuntimeError("I/O error: No space left on device (os error 28)"),
        RuntimeError("PytorchStreamWriter failed writing file data/0: file write failed"),
    ],
)
def test_full_disk_is_said_in_words(tmp_path: Path, error: Exception) -> None:
    path = tmp_path / "result.json"
    with pytest.raises(PlantError, match=r"result\.json: the disk is full, nothing was written"):
        write(path, "half", error)
    assert leftovers(tmp_path) == []


def test_a_reason_behind_another_error_is_found(tmp_path: Path) -> None:
    def save(path: Path) -> None:  # as torch.save
        with atomic_write(path):
            try:
                raise OSError(errno.ENOSPC, "")
            finally:
                raise RuntimeError("unexpected pos 64 vs 0")

    with pytest.raises(FullDiskError):
        save(tmp_path / "state.ckpt")


def test_a_folder_appears_whole_in_place_of_the_older(tmp_path: Path) -> None:
    def fill(name: str, error: Exception | None = None) -> None:
        with atomic_folder(tmp_path / "tokenizer") as temporary:
            (temporary / name).write_text("x")
            if error is not None:
                raise error

    fill("old")
    with pytest.raises(FullDiskError, match="tokenizer: the disk is full"):
        fill("half", Exception("No space left on device (os error 28)"))
    assert (leftovers(tmp_path), leftovers(tmp_path / "tokenizer")) == (["tokenizer"], ["old"])
    fill("new")
    assert (leftovers(tmp_path), leftovers(tmp_path / "tokenizer")) == (["tokenizer"], ["new"])


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="needs a system that can claim blocks")
def test_room_is_claimed_before_a_mapping_is_written(tmp_path: Path) -> None:
    with open(tmp_path / "array", "w+b") as stream:
        os.truncate(stream.fileno(), 100_000)
        assert os.fstat(stream.fileno()).st_blocks == 0  # a hole: each page would be looked for when it is written
        reserve(stream, 100_000)
        assert os.fstat(stream.fileno()).st_blocks * 512 >= 100_000
        reserve(stream, 0)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full, which only Linux has")
def test_full_disk_for_real(tmp_path: Path) -> None:
    def fill(path: Path) -> None:
        with atomic_write(path) as temporary:
            temporary.symlink_to("/dev/full")
            temporary.write_text("x")

    with pytest.raises(PlantError, match="disk is full"):
        fill(tmp_path / "a")
    assert leftovers(tmp_path) == []


def test_what_is_no_file_is_written_into(tmp_path: Path) -> None:
    pipe, found = tmp_path / "pipe", list[str]()
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: found.append(pipe.read_text()))
    reader.start()
    write_text(pipe, "whole")
    reader.join(10)
    assert (found, pipe.is_fifo()) == (["whole"], True)
    write_text(os.devnull, "nobody reads this")
    with pytest.raises(PlantError, match="cannot be written"), atomic_folder(pipe):
        pass
    assert not Path(os.devnull).is_file()


def test_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(PlantError, match="cannot be written"), atomic_write(tmp_path / "file" / "x.json"):
        pass  # pragma: no cover


@pytest.mark.parametrize("lose", ["removed", "replaced", "with its folder"])
def test_a_lost_lock_is_one_line(tmp_path: Path, caplog: pytest.LogCaptureFixture, lose: str) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    with locked(folder / ".lock", "wait"):
        (folder / ".lock").unlink()
        if lose == "replaced":
            (folder / ".lock").write_text("process 1 on another machine\n")
        elif lose == "with its folder":
            folder.rmdir()
    assert [line.getMessage() for line in caplog.records] == [
        f"{folder}: the lock was lost, another process may have written there too"
    ]
    assert (folder / ".lock").exists() == (lose == "replaced")  # another's is left alone


def test_a_lock_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / ".lock").mkdir()
    with pytest.raises(PlantError, match=r"\.lock: cannot be written \(Is a directory\)"), locked(tmp_path / ".lock"):
        pass  # pragma: no cover


def test_permission_denied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(source: Path, target: Path) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(source))

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(PlantError, match=r"x\.json: cannot be written \(Permission denied\)"):
        write(tmp_path / "x.json", "x")
    assert leftovers(tmp_path) == []


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX permissions")
def test_a_folder_that_may_not_be_looked_into(tmp_path: Path) -> None:
    (tmp_path / "locked").mkdir(mode=0)
    user = os.geteuid()
    os.seteuid(user or 65534)  # root may look into all folders
    try:
        with pytest.raises(PlantError, match=r"x: cannot be written \(Permission denied\)"):
            write_text(tmp_path / "locked" / "x", "text")
        kept = cached(tmp_path / "locked" / "x", Path.read_text, lambda: "made", write_text, "The text is")
    finally:
        os.seteuid(user)
    assert kept == "made"


@pytest.mark.parametrize("asked", ["~nobody of this name/cache", None])
def test_a_home_that_the_system_does_not_know(monkeypatch: pytest.MonkeyPatch, asked: str | None) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "~nobody of this name")
    with pytest.raises(PlantError, match="no such home folder"):
        cache_folder(asked)


def test_errors_about_other_files_pass_through(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="elsewhere"), atomic_write(tmp_path / "x.json"):
        (tmp_path / "elsewhere").read_text()


def test_block_that_writes_nothing_is_a_programming_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), atomic_write(tmp_path / "x.json"):
        pass


def test_what_is_kept_is_read_and_what_is_damaged_made_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path, made = tmp_path / "kept", list[int]()

    def make() -> int:
        made.append(len(made))
        return made[-1]

    def write(path: Path, number: int) -> None:
        with atomic_write(path) as temporary:
            temporary.write_text(str(number))

    def find(path: Path) -> int:
        return cached(path, lambda path: int(path.read_text()), make, write, "The number is")

    assert [find(path), find(path), made] == [0, 0, [0]]
    path.write_text("no number")
    assert [find(path), find(path), made] == [1, 1, [0, 1]]
    assert "The number is damaged and made again: kept" in caplog.text
    assert find(path / "below a file") == 2
    assert "The number is not kept: " in caplog.text


def modes(folder: Path) -> set[tuple[bool, int]]:
    return {(path.is_dir(), stat.S_IMODE(path.stat().st_mode)) for path in folder.rglob("*")}


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX permissions")
@pytest.mark.parametrize(
    ("asked", "file", "folder"), [(None, 0o600, 0o700), ("007", 0o660, 0o770), ("22", 0o644, 0o755)]
)
def test_files_are_the_users_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: str | None, file: int, folder: int
) -> None:
    monkeypatch.delenv("PLANT_UMASK", raising=False)
    if asked is not None:
        monkeypatch.setenv("PLANT_UMASK", asked)
    before = os.umask(0)
    os.umask(before)
    with private_files():
        write_text(tmp_path / "new" / "file", "text")
        (tmp_path / "library").write_text("of somebody else's code")
        with atomic_folder(tmp_path / "cache") as temporary:
            (temporary / "inside").touch()
        save_file({"a": torch.ones(1)}, tmp_path / "strict.safetensors")
        with atomic_write(tmp_path / "weights.safetensors") as temporary:
            save_file({"a": torch.ones(1)}, temporary)
    (tmp_path / "strict.safetensors").unlink()  # that library gives nobody else anything
    assert modes(tmp_path) == {(False, file), (True, folder)}
    assert os.umask(before) == before


@pytest.mark.parametrize("asked", ["9", "0100", "rw", "-7"])
def test_a_wrong_umask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: str) -> None:
    monkeypatch.setenv("PLANT_UMASK", asked)
    with pytest.raises(PlantError, match="PLANT_UMASK"):
        write_text(tmp_path / "file", "text")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="a system without pipes")
def test_json_that_never_ends_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "zeros.json").symlink_to("/dev/zero")
    for name in ("pipe.json", "zeros.json"):
        with pytest.raises(CheckpointError, match="no plain file"):
            read_json(tmp_path / name, dict[str, int], what="numbers", fix="write it again")
