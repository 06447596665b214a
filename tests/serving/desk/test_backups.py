"""A desk copied to a file of its own, and back."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

pytest.importorskip("sqlalchemy", reason="needs the extra: pip install 'plant-plugin[serve]'")
from desk_coding import MODEL, coder, said

from plant_plugin.errors import ConfigError, DataError, PlantError
from plant_plugin.serving.desk.backups import backup, restore
from plant_plugin.serving.desk.store import Decision, Desk


def test_backup_and_restore(desk: Desk, tmp_path: Path) -> None:
    who = coder(desk, "one")
    [document] = desk.add_documents([("a", "x")])
    desk.next(who, "sent", MODEL)
    desk.decide(who, "key-00001", document, Decision("R50", "accept", [(0, 1)]))
    backup(desk.path, tmp_path / "saved" / "backup.sqlite")
    desk.finish(who, "key-00002", document)
    restore(tmp_path / "saved" / "backup.sqlite", tmp_path / "again.sqlite")
    again = Desk(tmp_path / "again.sqlite")
    assert said(again, who, document) == {"R50": ("accept", [(0, 1)])}
    assert list(again.finished()) == []
    assert stat.S_IMODE((tmp_path / "again.sqlite").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "saved" / "backup.sqlite").stat().st_mode) == 0o600
    again.close()
    with pytest.raises(ConfigError, match="there already"):
        restore(tmp_path / "saved" / "backup.sqlite", tmp_path / "again.sqlite")
    backup(desk.path, tmp_path / "saved" / "backup.sqlite")  # over the older one, night by night
    for live in (desk.path, tmp_path / "again.sqlite"):
        with pytest.raises(ConfigError, match="this is a desk, and no backup of one"):
            backup(desk.path, live)
    (tmp_path / "moved.sqlite-wal").write_bytes(b"the last changes of a desk whose file was moved away")
    with pytest.raises(ConfigError, match=r"moved\.sqlite-wal(?s:.*)and all files moved\.sqlite-"):
        restore(tmp_path / "saved" / "backup.sqlite", tmp_path / "moved.sqlite")


def test_a_backup_that_cannot_be_written_is_told(desk: Desk, tmp_path: Path) -> None:
    with pytest.raises(PlantError, match="cannot be"):
        backup(desk.path, tmp_path / "folder.sqlite" / ".." / ("x" * 300))
    with pytest.raises(PlantError, match=r"cannot be (read or )?written"):
        backup(tmp_path / "no" / "desk.sqlite", tmp_path / "out.sqlite")


def test_a_torn_backup_is_not_restored(desk: Desk, tmp_path: Path) -> None:
    desk.add_documents((str(number), "x" * 1000) for number in range(200))
    backup(desk.path, tmp_path / "backup.sqlite")
    torn = (tmp_path / "backup.sqlite").read_bytes()
    (tmp_path / "torn.sqlite").write_bytes(torn[: len(torn) // 2])
    with pytest.raises(DataError):
        restore(tmp_path / "torn.sqlite", tmp_path / "new.sqlite")
    assert not (tmp_path / "new.sqlite").exists()
