"""``plant train`` and ``plant train --from`` that are killed in each stage, and the same command again."""

from __future__ import annotations

import shutil
import signal
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from killed_runs import dies_at, in_process, same_bytes
from marked_task import marked_config, write_marked_split, write_marked_splits

from plant_plugin.cli import plant
from plant_plugin.config import Config
from plant_plugin.training import further_resume, promises, resume, stage1, stage2
from plant_plugin.training import run as training_run

OFTEN = ("--checkpoint_every", "2", "--silent")
# In the order of a run: each start with the same command is killed at the next one.
PLACES = ((training_run, "fit_scores", 1), (stage2.Stage2, "training_step", 5), (stage2.Stage2, "validation_step", 1),
          (training_run, "weigh", 1), (training_run, "save", 1), (promises, "report", 1),
          (resume, "finish", 1))  # fmt: skip

# Of `refit`: the first start comes to its second training, the others begin there.
SECOND = ((training_run, "fit_scores", 2), (stage2.Stage2, "training_step", 3), (training_run, "save", 1),
          (resume, "finish", 1))  # fmt: skip


def train(*arguments: object) -> Result:
    return CliRunner().invoke(plant, ["train", *map(str, arguments), *OFTEN])


def killed(arguments: tuple[object, ...], owner: Any, name: str, call: int) -> None:
    """Train until the n-th call of a function, then die."""
    dies_at(owner, name, call)
    train(*arguments)


def kill(arguments: tuple[object, ...], *place: Any) -> None:
    process = in_process(killed, arguments, *place)
    process.join()
    assert process.exitcode == -signal.SIGKILL, place


def ended(folder: Path) -> list[Path]:
    return sorted(path.parent for path in folder.glob("*/result.json"))


def old_run(folder: Path, **changes: Any) -> Config:
    write_marked_splits(folder)
    write_marked_split(folder, "new", 100, 7)
    config = marked_config(folder, **{"batch_size": 16, "result_dir": str(folder / "runs"), **changes})
    training_run.run(config)
    return config


@pytest.mark.integration
@pytest.mark.parametrize(
    ("changes", "places"),
    [({}, PLACES), ({"refit": "train+val"}, PLACES), ({"refit": "train+val"}, SECOND)],
)
def test_further_training_goes_on_after_kills_to_the_same_bytes(
    tmp_path: Path, changes: dict[str, Any], places: list[tuple[Any, str, int]]
) -> None:
    folder, new = old_run(tmp_path, **changes).checkpoint_dir, tmp_path / "new.txt"
    first = train("--from", folder, new, "--result_dir", tmp_path / "whole")
    assert first.exit_code == 0, first.output
    (whole,) = ended(tmp_path / "whole")
    again = "--from", folder, new, "--result_dir", tmp_path / "cut", "--resume", "auto"
    for place in places:
        kill(again, *place)
    last = train(*again)
    assert (last.exit_code, last.output) == (0, "")
    (cut,) = (tmp_path / "cut").iterdir()
    same_bytes(whole, cut)
    assert [path.name for path in cut.iterdir() if path.name.startswith(("stage", "."))] == []


@pytest.mark.integration
def test_other_documents_begin_anew_and_what_had_not_begun_is_said(tmp_path: Path) -> None:
    folder, new = old_run(tmp_path, stage2__epochs=1).checkpoint_dir, tmp_path / "new.txt"
    arguments = "--from", folder, new, "--result_dir", tmp_path / "more"
    kill(arguments, resume, "same_data", 1)
    (begun,) = (tmp_path / "more").iterdir()
    new.write_text(new.read_text() + "L1\tsign1x mark1y in another document\n")
    anew = train(*arguments, "--resume", "auto")
    assert anew.exit_code == 0, anew.output
    (other,) = ended(tmp_path / "more")
    assert other != begun
    assert train(*arguments, "--resume", begun).exit_code == 0  # with its own documents
    assert ended(tmp_path / "more") == sorted([begun, other])

    shutil.rmtree(tmp_path / "more")
    for owner, name in ((further_resume, "write_log_config"), (resume, "has_ended")):  # its documents are written
        kill(arguments, owner, name, 1)
        (begun,) = (tmp_path / "more").iterdir()
        refused = train(*arguments, "--resume", begun)
        assert refused.exit_code
        assert "nothing to resume is here" in refused.output
        assert "start a new" in refused.output
        shutil.rmtree(tmp_path / "more")
    new.write_text("a text without labels\n")
    assert train(*arguments).exit_code
    assert not list(tmp_path.glob("more/*"))


def test_two_of_one_second_have_two_folders_and_what_fails_leaves_none(tmp_path: Path) -> None:
    with further_resume.new_folder(tmp_path / "runs" / "x") as first:
        pass
    with pytest.raises(KeyError), further_resume.new_folder(tmp_path / "runs" / "x") as second:
        raise KeyError
    assert (first.name, second.name) == ("x", "x_2")
    assert [path.name for path in first.parent.iterdir()] == ["x"]


@pytest.mark.integration
@pytest.mark.parametrize("how", ["folder", "auto"])
def test_training_with_nothing_set_goes_on_after_kills_to_the_same_bytes(tmp_path: Path, how: str) -> None:
    write_marked_splits(tmp_path)
    sizes = "--network_config.hidden_size", "16", "--network_config.pool_size", "16", "--stage2.epochs", "2"
    arguments = tmp_path / "train.txt", *sizes, "--stage1.epochs", "1", "--stage2.patience", "9"
    first = train(*arguments, "--result_dir", tmp_path / "whole")
    assert first.exit_code == 0, first.output
    (whole,) = ended(tmp_path / "whole")
    again: tuple[object, ...] = (*arguments, "--result_dir", tmp_path / "cut", "--resume", "auto")
    places = [(stage1.Stage1, "training_step", 2), *PLACES]
    for place in places if how == "folder" else places[::3]:
        kill(again, *place)
        (cut,) = (tmp_path / "cut").iterdir()
        if how == "folder":
            again = (*again[:-1], cut)
    last = train(*again)
    assert (last.exit_code, last.output) == (0, "")
    same_bytes(whole, cut)
