"""``plant train --from … --resume auto``: the run that was begun with the same documents goes on.

Each run has its documents in its own folder, so that no two have the same configuration: paths differ.
"""

from __future__ import annotations

import contextlib
import filecmp
import itertools
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from plant_plugin.config import Config, load_config
from plant_plugin.config.options import AUTO
from plant_plugin.errors import CheckpointError
from plant_plugin.report.logs import LOGS, write_log_config
from plant_plugin.report.record import RUN_FILE, read_further
from plant_plugin.training.resume import record_of

DOCUMENTS = "documents"  # folder in a run's own: what it was trained on, which the next training reads too


def begun_in(resume: object) -> Path | None:
    """Return the folder of the run to resume; None where none is named.

    Raises:
        CheckpointError: It was stopped before its documents and its configuration were written.
    """
    if not isinstance(resume, str) or resume == AUTO:
        return None
    if not (Path(resume) / LOGS).is_file():
        fix = "remove it, and start a new run without --resume"
        raise CheckpointError("nothing to resume is here: the run had not begun", where=resume, fix=fix)
    return Path(resume)


@contextlib.contextmanager
def new_folder(wanted: Path) -> Iterator[Path]:
    """Make the folder of a run, for this one only: of two of one second the later one's name ends in ``_2``.

    Where the block fails nothing is left.
    """
    wanted.parent.mkdir(parents=True, exist_ok=True)
    for number in itertools.count(1):
        folder = wanted if number == 1 else wanted.with_name(f"{wanted.name}_{number}")
        with contextlib.suppress(FileExistsError):
            folder.mkdir()
            break
    try:
        yield folder
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def settled_in(folder: Path, keys: Mapping[str, object]) -> Config:
    """Return the configuration of a run whose documents lie in its new folder, and write it down there.

    With ``resume: auto`` it is that of the newest run beside it that has not ended and was begun with the same
    documents and keys, where there is one; the new folder is removed then.
    """
    settled = replace(load_config(None, dict(keys)), checkpoint_dir=folder)
    if settled.resume == AUTO:
        runs = (path.parent for path in folder.parent.glob(f"*/{RUN_FILE}"))
        for other in sorted(runs, key=lambda run: (run / RUN_FILE).stat().st_mtime_ns, reverse=True):
            moved = load_config(None, {key: _moved(value, folder, other) for key, value in keys.items()})
            if _has_not_ended(other, moved.hash()) and _same_documents(folder, other):
                shutil.rmtree(folder)
                return moved.resumed(other)
    write_log_config(settled.log_path, settled.as_dict())  # a run that is stopped needs it to resume
    return settled


def _moved(value: object, folder: Path, other: Path) -> object:
    """Return a value, or the file of the same name in the other folder where it is the path of one in the first."""
    if not isinstance(value, str) or folder not in Path(value).parents:
        return value
    return str(other / Path(value).relative_to(folder))


def _has_not_ended(run: Path, config_hash: str) -> bool:
    with contextlib.suppress(CheckpointError):  # its record is torn
        record = record_of(run)
        return record is not None and record["config_hash"] == config_hash and not record.get("finished")
    return False


def _same_documents(one: Path, other: Path) -> bool:
    names = [{path.name for path in (run / DOCUMENTS).glob("*")} for run in (one, other)]
    if names[0] != names[1] or read_further(one) != read_further(other):
        return False
    same, _, _ = filecmp.cmpfiles(one / DOCUMENTS, other / DOCUMENTS, names[0], shallow=False)
    return len(same) == len(names[0])
