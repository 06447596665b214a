"""Folders that a killed ``plant train --from`` left while it wrote its documents: nothing in them can be resumed."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

from plant_plugin.report.record import FURTHER
from plant_plugin.report.run_folder import LOCK
from plant_plugin.training.further_resume import DOCUMENTS

NAME = "*_taught_*"  # of the folders of such trainings
QUIET = 86_400.0  # seconds without a change, a day, after which nobody writes there any more


def remove_torn(run: Path) -> list[Path]:
    """Remove such folders beside that of a run, and return them; one where somebody may be writing stays."""
    removed = []
    for folder in run.parent.glob(NAME):
        paths = [folder, *folder.rglob("*")]
        written = {path.relative_to(folder).parts[0] for path in paths[1:]}
        if folder == run or not folder.is_dir() or not written <= {DOCUMENTS, FURTHER, LOCK}:
            continue
        if time.time() - max(path.lstat().st_mtime for path in paths) > QUIET:
            shutil.rmtree(folder, ignore_errors=True)
            removed.append(folder)
    return removed
