"""The built-in data: made-up discharge summaries, which come with the package and are unpacked into the cache folder.

The files are in LibMultiLabel's text format. Their names carry a hash of the packed ones, so that other notes make new
files and never touch old ones. ``plant prepare demo`` made them, with its defaults.
"""

from __future__ import annotations

import hashlib
import lzma
from pathlib import Path

from plant_plugin.errors import ConfigError
from plant_plugin.files import atomic_write, cache_folder

SPLITS = ("train", "valid", "test")
PACKED = Path(__file__).with_name("made_up_notes")


def demo_file(split: str, cache_dir: str | Path | None = None) -> Path:
    """Path of one split of the built-in data, unpacked into the cache folder on the first call.

    Raises:
        ConfigError: No such split.
        PlantError: The cache folder cannot be written.
    """
    if split not in SPLITS:
        what = f"the built-in data has no split {split!r}"
        raise ConfigError(what, where=f"demo:{split}", fix=f"use one of {SPLITS}")
    packed = (PACKED / f"{split}.txt.xz").read_bytes()
    path = cache_folder(cache_dir) / "demo" / f"{split}-{hashlib.sha256(packed).hexdigest()[:12]}.txt"
    if not path.is_file():
        with atomic_write(path) as temporary:
            temporary.write_bytes(lzma.decompress(packed))
    return path
