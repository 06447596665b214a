"""Where things live that can be made again: token arrays, built-in data."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder(cache_dir: str | Path | None = None) -> Path:
    """The folder for files that can be made again; it need not exist yet.

    Args:
        cache_dir: The configuration's ``cache_dir``; None stands for ``plant_plugin`` in the user's cache folder
            (``$XDG_CACHE_HOME``, otherwise ``~/.cache``).
    """
    if cache_dir is not None:
        return Path(cache_dir).expanduser()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "plant_plugin"
