"""LibMultiLabel's own models are pickles, which import and call what they name: read here by a list of names alone.

The list is ``known_classes.yml``. What is not on it is neither imported nor called, unless the user trusts the file.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import logging
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import numpy as np
import numpy.typing as npt
import torch
import yaml

from plant_plugin.errors import CheckpointError

KEEP = "keep the file of the run that made the checkpoint"

logger = logging.getLogger(__name__)


@functools.cache
def _listed(group: str) -> dict[str, list[str]]:
    """Names of a group of the list by module."""
    listed: dict[str, dict[str, list[str]]] = yaml.safe_load(
        Path(__file__).with_name("known_classes.yml").read_text(encoding="utf-8")
    )
    return listed[group]


def _refuse_or_say(path: Path, names: list[str], *, trust_code: bool) -> None:
    if names and not trust_code:
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        what = f"imports {', '.join(names[:3])}{more}, not on the list of what LibMultiLabel's own models need"
        fix = "if you trust whoever wrote it, say --trust-code: what it names is imported, and may run"
        raise CheckpointError(what, where=str(path), fix=fix)
    for name in names:
        logger.warning("%s imports %s", path, name)


@contextlib.contextmanager
def reading_pickle(what: str, path: Path, fix: str, *, in_full: bool = False) -> Iterator[None]:
    """A ``CheckpointError`` in the place of what a damaged pickle raises, which is whatever its bytes say.

    So what it says is told ``in_full`` only where the file holds no words.
    """
    try:
        yield
    except CheckpointError:
        raise
    except Exception as error:
        told = f"{type(error).__name__}: {error}" if in_full else type(error).__name__
        raise CheckpointError(f"not {what} ({told})", where=str(path), fix=fix) from error


class KnownUnpickler(pickle.Unpickler):
    """Reads what the ``groups`` of the list hold; ``trust_code``: what else it names, too, and says so before."""

    def __init__(self, stream: IO[bytes], path: Path, *groups: str, trust_code: bool = False) -> None:
        super().__init__(stream)
        self._path, self._trust_code = path, trust_code
        self._known = {(module, name) for group in groups for module, names in _listed(group).items() for name in names}

    def find_class(self, module: str, name: str) -> object:
        """The object of that name; a ``CheckpointError`` where it is not known."""
        if (module, name) not in self._known:
            _refuse_or_say(self._path, [f"{module}.{name}"], trust_code=self._trust_code)
        return super().find_class(module, name)


def read_clusters(path: Path, *, trust_code: bool = False) -> npt.NDArray[np.object_]:
    """AttentionXML's ``label_clusters.npy``: an array (C,) of one array of label numbers for each cluster."""
    with reading_pickle("clusters of labels", path, KEEP), path.open("rb") as stream:
        header = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
        shape, _, dtype = header[np.lib.format.read_magic(stream)](stream)
        if not dtype.hasobject:
            raise ValueError("not an array of arrays")
        found = np.asarray(KnownUnpickler(stream, path, "arrays", trust_code=trust_code).load())
        if found.shape != shape or any(one.ndim != 1 or one.dtype.kind not in "iu" for one in found):
            raise ValueError("other arrays")
    return found


@contextlib.contextmanager
def known_networks(path: Path, *, trust_code: bool = False) -> Iterator[bool]:
    """Lets ``torch.load`` make what networks of LibMultiLabel need; yields the ``weights_only`` that ``path`` gets."""
    with torch.serialization.safe_globals(_globals()):
        try:
            unknown = sorted(torch.serialization.get_unsafe_globals_in_checkpoint(path))
        except Exception:  # torn, or no checkpoint: whoever loads it says so, and nothing of it runs
            unknown = []
        _refuse_or_say(path, unknown, trust_code=trust_code)
        yield not unknown


def _globals() -> list[Callable[..., object] | tuple[Callable[..., object], str]]:
    """The list as torch takes it: objects, each with the name that a pickle has for it."""
    found = [
        (getattr(importlib.import_module(module), name), f"{module}.{name}")
        for group in ("arrays", "networks")
        for module, names in _listed(group).items()
        if not module.startswith("numpy.core.")  # NumPy 2 has them under the new names, which it maps these to
        for name in names
    ]
    return [*found, (_activation, "builtins.getattr"), (_Functions, "torch._C._VariableFunctionsClass")]


class _Functions:
    """Stands for the class whose attributes ``torch.relu`` and its like are."""


def _activation(owner: object, name: str) -> object:
    """What the pickle of an activation calls in the place of ``getattr``."""
    if owner is not _Functions or name not in _listed("activations"):
        raise pickle.UnpicklingError("no activation")
    return getattr(torch, name)
