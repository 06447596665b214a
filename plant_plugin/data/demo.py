"""The built-in data: made-up discharge summaries, generated once into the cache folder.

The files are in LibMultiLabel's text format. Their names carry a hash of the generator's settings and versions, so
a change makes new files and never touches old ones.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from plant_plugin.data.cache import cache_folder
from plant_plugin.errors import ConfigError, MissingExtraError
from plant_plugin.files import atomic_write

GENERATOR_VERSION = 1  # counts up whenever prepare/demo_notes.py writes other notes


@dataclass(frozen=True)
class DemoOptions:
    """Size and shape of the built-in data; the defaults are what ``demo:train`` and its siblings name."""

    seed: int = 20240607
    train: int = 2000  # documents
    valid: int = 300
    test: int = 500
    labels: int = 300  # codes that can be drawn
    exponent: float = 1.2  # Zipf's: how steeply frequencies of codes fall

    def hash(self) -> str:
        """Twelve hex digits over these options and the versions of the generator and of the ICD-10-CM package.

        Raises:
            MissingExtraError: The package with the ICD-10-CM texts is not installed.
        """
        try:
            texts = version("simple-icd-10-cm")
        except PackageNotFoundError as error:
            what = "the built-in data needs the texts of ICD-10-CM"
            raise MissingExtraError(what, fix="pip install simple-icd-10-cm") from error
        content = json.dumps([GENERATOR_VERSION, texts, asdict(self)], sort_keys=True)
        return hashlib.sha256(content.encode()).hexdigest()[:12]


SPLITS = ("train", "valid", "test")


def demo_file(split: str, cache_dir: str | Path | None = None, options: DemoOptions | None = None) -> Path:
    """Path of one split of the built-in data; all three are generated on the first call (a few seconds).

    Args:
        split: ``train``, ``valid`` or ``test``.
        cache_dir: The configuration's ``cache_dir``; None for the user's cache folder.
        options: Other sizes than the default ones, for tests.

    Raises:
        ConfigError: No such split.
        PlantError: The cache folder cannot be written.
    """
    if split not in SPLITS:
        raise ConfigError(
            f"the built-in data has no split {split!r}", where=f"demo:{split}", fix=f"use one of {SPLITS}"
        )
    options = options or DemoOptions()
    folder = cache_folder(cache_dir) / "demo"
    paths = {name: folder / f"{name}-{options.hash()}.txt" for name in SPLITS}
    if not all(path.is_file() for path in paths.values()):
        from plant_plugin.prepare.demo_notes import write_notes  # reads the whole of ICD-10-CM, seconds

        for name, lines in write_notes(options).items():
            with atomic_write(paths[name]) as temporary:
                temporary.write_text("".join(lines), encoding="utf-8")
    return paths[split]
