"""What is not installed for everybody, and the command that installs it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from plant_plugin.errors import MissingExtraError


@contextlib.contextmanager
def needs_extra(extra: str, where: str) -> Iterator[None]:
    """Turn a failing import in the block into the sentence that names the extra.

    Raises:
        MissingExtraError: Something imported in the block is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            f"{error.name} is not installed", where=where, fix=f"pip install 'plant-plugin[{extra}]'"
        ) from error
