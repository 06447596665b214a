"""Notes on their way: written to a scratch file as they are read, so that memory holds only where they lie."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, NamedTuple


class Note(NamedTuple):
    """A discharge summary or an addendum; ``order`` puts those of an admission in a row, ``row`` is its ROW_ID."""

    patient: int
    admission: int
    order: Any
    text: str
    row: int | None = None


@dataclass(slots=True)
class Admission:
    """One document to be.

    Attributes:
        patient: SUBJECT_ID.
        number: HADM_ID.
        codes: Its codes, each once.
        pieces: Of its notes: what they are ordered by, where they start in the scratch file, bytes.
    """

    patient: int
    number: int
    codes: frozenset[str] = field(repr=False)
    pieces: list[tuple[Any, int, int]] = field(default_factory=list, repr=False)

    @property
    def has_text(self) -> bool:
        """Whether a word is left in any of its notes."""
        return any(size for _, _, size in self.pieces)


class Scratch:
    """Cleaned notes one after the other in a file.

    Args:
        path: The file; None only counts, for a dry run.
    """

    def __init__(self, path: Path | None) -> None:
        self.stream: IO[bytes] | None = None if path is None else open(path, "w+b")
        self.end = 0

    def __enter__(self) -> Scratch:
        return self

    def __exit__(self, *_: object) -> None:
        if self.stream is not None:
            self.stream.close()

    def add(self, text: str) -> tuple[int, int]:
        """Put a text at the end; where it starts, and its bytes."""
        content = text.encode("utf-8")
        start, self.end = self.end, self.end + len(content)
        if self.stream is not None:
            self.stream.write(content)
        return start, len(content)

    def text_of(self, pieces: Iterable[tuple[Any, int, int]]) -> bytes:
        """The notes in order, joined by spaces, UTF-8."""
        assert self.stream is not None, "a dry run writes nothing"
        parts = []
        for _, start, size in sorted(pieces):
            if size:
                self.stream.seek(start)
                parts.append(self.stream.read(size))
        return b" ".join(parts)
