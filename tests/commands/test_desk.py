"""``plant desk``: accounts, documents, exports and backups."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

pytest.importorskip("sqlalchemy", reason="needs the extra: pip install 'plant-plugin[serve]'")
from plant_plugin.cli import plant


def run(*arguments: object) -> Result:
    return CliRunner().invoke(plant, ["desk", *map(str, arguments)])


def test_accounts_documents_backup_and_restore(tmp_path: Path) -> None:
    path, file = tmp_path / "new" / "desk.sqlite", tmp_path / "texts.txt"
    file.write_text("first text\nsecond text\n", encoding="utf-8")
    assert run("export", path, "--out", tmp_path / "out").exit_code == 2
    token = run("add-coder", path, "ana").output.splitlines()[0]
    assert len(token) > 40
    assert run("add-coder", path, "ana").exit_code == 2
    assert run("add-coder", path, "lea", "--role", "lead").exit_code == 0
    assert run("new-token", path, "ana").output.strip() != token
    assert run("new-token", path, "ana", "--none").output.strip() == "closed"
    assert run("add-documents", path, file, "--date", "2026-01-02", "--coders", 2).exit_code == 0
    file.write_text("")
    nothing = run("add-documents", path, file)
    assert nothing.exit_code == 2
    assert f"Error: {file}: the file holds no document\n  How to fix it: check that it was" in nothing.output
    empty = run("export", path, "--out", tmp_path / "out")
    assert empty.exit_code == 2
    assert "no finished document" in empty.output
    assert not (tmp_path / "out").exists()
    assert run("backup", path, tmp_path / "backup.sqlite").exit_code == 0
    assert run("restore", tmp_path / "backup.sqlite", path).exit_code == 2
    assert run("restore", tmp_path / "backup.sqlite", tmp_path / "again.sqlite").exit_code == 0
    assert "0 of 2 documents" in run("agreement", tmp_path / "again.sqlite").output


@pytest.mark.parametrize(
    "arguments",
    [
        ["desk", "add-coder", "DESK", "berta"],
        ["desk", "new-token", "DESK", "ana"],
        ["desk", "add-documents", "DESK", "DESK", "--coded-by", "ana"],
        ["desk", "export", "DESK", "--out", "out"],
        ["desk", "agreement", "DESK"],
        ["desk", "backup", "DESK", "saved.sqlite"],
        ["desk", "restore", "DESK", "again.sqlite"],
        ["train", "DESK", "--from", "."],
    ],
    ids=lambda arguments: arguments[1],
)
def test_without_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]) -> None:
    assert run("add-coder", tmp_path / "desk.sqlite", "ana").exit_code == 0
    for name in [name for name in sys.modules if name.startswith("plant_plugin.serving.desk")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "sqlalchemy", None)
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(plant, ["desk.sqlite" if argument == "DESK" else argument for argument in arguments])
    assert done.exit_code == 2, done.exception
    assert "a desk needs SQLAlchemy\n  How to fix it: pip install 'plant-plugin[serve]'" in done.output
