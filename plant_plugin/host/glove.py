"""Releases of GloVe vectors by LibMultiLabel's names for them, downloaded by its loader."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from libmultilabel.nn import data_utils

from plant_plugin.errors import DataError, PlantError


def vectors_file(embed_file: str, cache_dir: str | Path | None = None) -> Path:
    """The file of word vectors that ``embed_file`` names: itself, or that of a GloVe release, downloaded once.

    Args:
        embed_file: A file, or one of LibMultiLabel's six names, e.g. ``glove.6B.100d``.
        cache_dir: Folder of downloaded vectors; None is LibMultiLabel's ``.vector_cache``.

    Raises:
        DataError: Neither.
        PlantError: The download failed or was cut short.
    """
    if not is_glove_name(embed_file):
        raise DataError(
            "no such file, and not a name of GloVe vectors",
            where=f"embed_file: {embed_file}",
            fix="make one with: plant embeddings TRAIN --out FILE",
        )
    folder = Path(cache_dir or ".vector_cache")
    ensure_glove(embed_file, folder)
    return folder / f"{embed_file}.txt"


def ensure_glove(name: str, folder: Path) -> None:
    """Have LibMultiLabel download a GloVe release unless it is cached.

    Raises:
        PlantError: The download failed or was cut short; no broken archive is left behind.
    """
    if (folder / f"{name}.txt").is_file():
        return
    try:
        data_utils._download_glove_embedding(name, cache_dir=str(folder))
    except Exception as error:
        # LibMultiLabel's clean-up names a variable that is not yet set when the download itself fails.
        cause: BaseException = (
            error.__context__ if isinstance(error, UnboundLocalError) and error.__context__ else error
        )
        for archive in folder.glob("*.zip"):
            os.remove(archive)
        raise PlantError(
            f"the vectors {name} could not be downloaded ({type(cause).__name__}: {cause})",
            where="embed_file",
            fix=f"put {name}.txt into {folder}, or train vectors on your own text: plant embeddings TRAIN --out FILE",
        ) from cause


def is_glove_name(embed_file: Any) -> bool:
    """Whether ``embed_file`` names a GloVe release rather than a file."""
    return embed_file in data_utils.GLOVE_WORD_EMBEDDING
