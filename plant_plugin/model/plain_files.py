"""Files of a model folder that are none: a pipe or a device that a stranger put there would never end."""

from __future__ import annotations

from pathlib import Path

from plant_plugin.errors import CheckpointError


def check_plain(folder: Path) -> None:
    """Raise a CheckpointError where what lies in a folder, or a link there leads to, is neither file nor folder."""
    for path in folder.iterdir():
        if path.exists() and not (path.is_file() or path.is_dir()):
            fix = "take it out, and use only what you trust of this folder"
            raise CheckpointError("neither a file nor a folder", where=str(path), fix=fix)
