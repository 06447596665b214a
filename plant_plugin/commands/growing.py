"""Output that grows on the disk while documents are predicted, so that a command that was stopped can go on with it.

Beside OUT lies ``OUT.unfinished``, and ``OUT.unfinished.json`` says how far it is whole. The latter holds numbers and
hashes, no id and no text.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import IO

import click
from typing_extensions import TypedDict

from plant_plugin.commands.printing import data_stream
from plant_plugin.data.tables import Document
from plant_plugin.errors import ConfigError, DataError
from plant_plugin.files import atomic_write, flush, read_json, remove, sha256, write_json

# Flags that change what is written.
DECIDING = "form output raw_csv rules back_off system threshold promise_by held_out top names".split()
SAID_EVERY = 60.0  # seconds after which a log gets a line
FIX = "give the same, or leave out --resume to begin again"


class State(TypedDict):
    """How far an output is whole."""

    decides: str  # hash of model and flags
    documents: int
    size: int  # bytes
    read: str  # hash of these documents
    counts: dict[str, int]


class Growing:
    """An output that is written part by part.

    Args:
        out: The file that it becomes.
        decides: What else decides what is written.
        resume: Go on with what is there.

    Raises:
        ConfigError: It was begun with another model or other flags.
        CheckpointError: What is there is torn.
    """

    def __init__(self, out: Path, decides: Mapping[str, str], *, resume: bool) -> None:
        self.out = out
        self.path, self._state = (out.with_name(out.name + end) for end in (".unfinished", ".unfinished.json"))
        digest = _hash(json.dumps(decides, sort_keys=True))
        self.state = State(decides=digest, documents=0, size=0, read="", counts={})
        if resume and self._state.exists():
            self.state = read_json(self._state, State, what="the state of an output", fix="leave out --resume")
            if self.state["decides"] != digest:
                raise ConfigError("it was begun with another model or other flags", where=str(self.path), fix=FIX)
            if not self.path.is_file() or self.path.stat().st_size < self.state["size"]:
                raise ConfigError("it is shorter than its state says", where=str(self.path), fix="leave out --resume")
        self._unwritten: deque[str] = deque()

    @classmethod
    def of(cls, model: Path, out: Path | None, *, resume: bool, by_workers: bool) -> Growing | None:
        """Return the output of the command that runs; None for workers', and for what is no plain file."""
        if by_workers or out is None or (out.exists() and not out.is_file()):
            if resume:
                what, fix = "only a plain file is gone on with, and without --ray", "give --out FILE"
                raise ConfigError(what, where="--resume", fix=fix)
            return None
        decides = {name: str(click.get_current_context().params.get(name)) for name in DECIDING}
        manifest = model / "manifest.json" if model.is_dir() else model
        decides["weights"] = sha256(manifest) if manifest.is_file() else ""
        return cls(out, decides, resume=resume)

    def rest(self, documents: Iterable[Document], source: str) -> Iterator[Document]:
        """Yield the documents that are not written yet.

        Raises:
            DataError: Those that are written are others than the first of these.
        """
        documents, read = iter(documents), ""
        for document in islice(documents, self.state["documents"]):
            read = _hash(read, _hash(document.name, document.text))
        if read != self.state["read"]:
            what = f"its first documents ({self.state['documents']:,}) are not those that were predicted"
            raise DataError(what, where=source, fix=FIX)
        for document in documents:
            self._unwritten.append(_hash(document.name, document.text))
            yield document

    @contextmanager
    def opened(self) -> Iterator[IO[str]]:
        """Open what is there, cut to what is whole; make it OUT when the block ends well.

        Raises:
            PlantError: The folder cannot be made or written to, or the disk is full.
        """
        write_json(self._state, self.state)  # makes the folder, or says why it cannot
        try:
            self.path.touch()
            os.truncate(self.path, self.state["size"])
            with open(self.path, "a", encoding="utf-8", newline="\n") as stream:
                yield stream
            flush(self.path)
            os.replace(self.path, self.out)
            remove(self._state)
        finally:
            if not self.state["documents"]:  # there is nothing to go on with
                remove(self.path)
                remove(self._state)

    def note(self, stream: IO[str], counts: Counter[str]) -> None:
        """Note that a part is written, of the documents that were read next."""
        stream.flush()
        for _ in range(counts["documents"]):
            self.state["read"] = _hash(self.state["read"], self._unwritten.popleft())
        self.state["documents"] += counts["documents"]
        self.state["counts"] = dict(Counter(self.state["counts"]) + counts)
        self.state["size"] = os.fstat(stream.fileno()).st_size
        write_json(self._state, self.state)


@contextmanager
def written_at_once(out: Path | None) -> Iterator[IO[str]]:
    """Open standard output, or OUT, which is whole or not there."""
    if out is None:
        yield data_stream()
        return
    with atomic_write(out) as temporary, open(temporary, "w", encoding="utf-8", newline="\n") as stream:
        yield stream


def say_so_far(parts: Iterable[tuple[str, Counter[str]]]) -> Iterator[tuple[str, Counter[str]]]:
    """Yield the parts, and say each minute how many documents they were, where no terminal shows a bar."""
    said, documents = time.monotonic(), 0
    for text, counts in parts:
        yield text, counts
        documents += counts["documents"]
        if not sys.stderr.isatty() and time.monotonic() > said + SAID_EVERY:
            said = time.monotonic()
            click.echo(f"documents so far: {documents:,}", err=True)


def _hash(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
