"""A ``plant train --from`` that is killed while it writes its documents."""

from __future__ import annotations

import os
import time
from pathlib import Path

from click.testing import CliRunner
from test_further_resume import ended, kill, old_run

from plant_plugin.cli import plant
from plant_plugin.training import further
from plant_plugin.training.left_over import remove_torn


def older(folder: Path) -> None:
    for path in (folder, *folder.rglob("*")):
        os.utime(path, (time.time() - 200_000,) * 2)


def test_the_same_command_begins_anew_and_removes_what_was_left(tmp_path: Path) -> None:
    first = old_run(tmp_path, strategy="planted_scores")
    arguments = "--from", first.checkpoint_dir, tmp_path / "new.txt", "--result_dir", tmp_path / "more"
    kill(arguments, further, "write_test_file", 1)  # after its training documents, before its configuration
    [torn] = (tmp_path / "more").iterdir()
    assert (torn / "documents").is_dir()
    assert not (torn / "logs.json").exists()
    older(torn)
    again = CliRunner().invoke(plant, ["train", *map(str, arguments), "--silent"])
    assert again.exit_code == 0, again.output
    assert not torn.exists()
    assert len(ended(tmp_path / "more")) == 1


def test_a_folder_that_somebody_may_write_in_or_that_holds_more_stays(tmp_path: Path) -> None:
    folders = {name: tmp_path / f"x_taught_{name}" for name in ("torn", "young", "begun", "own")}
    for folder in folders.values():
        (folder / "documents").mkdir(parents=True)
        (folder / "documents" / "train.txt").write_text("a\tb\n")
        older(folder)
    (folders["begun"] / "logs.json").write_text("{}")
    os.utime(folders["young"] / "documents" / "train.txt")
    older(folders["begun"])
    assert remove_torn(folders["own"]) == [folders["torn"]]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x_taught_begun", "x_taught_own", "x_taught_young"]
