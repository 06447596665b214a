"""Token ids of a whole split as plain arrays: made once, kept on disk, mapped from there without pickle."""

from __future__ import annotations

import hashlib
import logging
import struct
import zipfile
import zlib
from array import array
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from plant_plugin.data.cache import cache_folder
from plant_plugin.data.documents import Split
from plant_plugin.errors import PlantError
from plant_plugin.files import atomic_write

logger = logging.getLogger(__name__)

CACHE_VERSION = 2  # counts up when encoding or the file's layout changes
WHOLE_DOCUMENT = 2**31 - 1  # max_seq_length: null
ARRAYS = ("ids", "offsets", "unknown_only", "truncated")
LOCAL_HEADER = 30  # bytes before the name of a member of a zip file; its last four are two lengths
RULE_PACKAGES = ("nltk", "tokenizers")  # another version may cut text otherwise


@dataclass
class TokenArrays:
    """All documents of a split as one run of token ids.

    Attributes:
        ids: int32, every document's ids one after the other.
        offsets: int64 (N+1,); document i is ``ids[offsets[i]:offsets[i + 1]]``.
        unknown_only: How many documents have no known token: all unknown, or no token at all. They are kept.
        truncated: How many documents were longer than what was read of them.
    """

    ids: npt.NDArray[np.int32]
    offsets: npt.NDArray[np.int64]
    unknown_only: int = 0
    truncated: int = 0

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """Tokens of each document, (N,) int64; may be 0."""
        return np.diff(self.offsets)

    def followed_by(self, others: TokenArrays) -> TokenArrays:
        """These documents and others behind them; both counts stay those of these."""
        offsets = np.concatenate([self.offsets, self.offsets[-1] + others.offsets[1:]])
        return TokenArrays(np.concatenate([self.ids, others.ids]), offsets, self.unknown_only, self.truncated)

    @classmethod
    def from_flat(
        cls,
        ids: array[int] | npt.NDArray[np.int32],
        lengths: npt.ArrayLike,
        known_from: frozenset[int],
        truncated: int = 0,
    ) -> TokenArrays:
        """Pack ids and lengths; ``known_from`` holds the special ids, which do not make a document known."""
        flat = np.asarray(ids, dtype=np.int32)
        offsets = np.concatenate([[0], np.cumsum(np.asarray(lengths, dtype=np.int64))]).astype(np.int64)
        known = np.concatenate([[0], np.cumsum(~np.isin(flat, list(known_from)))])
        return cls(flat, offsets, int(np.count_nonzero(known[offsets[1:]] == known[offsets[:-1]])), truncated)


class Encoder(Protocol):
    """What the cache needs of a vocabulary."""

    def hash(self) -> str:
        """Names the vocabulary."""

    def encode(self, texts: Iterable[str], max_length: int) -> TokenArrays:
        """Makes the arrays."""


def encode_cached(
    tokens: Encoder, split: Split, max_length: int | None, cache_dir: str | Path | None = None
) -> TokenArrays:
    """Encode a split, or read the arrays that an earlier run made from the same texts, vocabulary and length.

    The file is named by the hash of what made it and holds plain arrays. A torn file is made again; a cache folder
    that cannot be written only costs a warning.

    Args:
        tokens: The vocabulary.
        split: The documents.
        max_length: Tokens kept of each document; None: all.
        cache_dir: The configuration's ``cache_dir``; None for the user's cache folder.
    """
    rules = [version(package) for package in RULE_PACKAGES]
    key = "\n".join([str(CACHE_VERSION), *rules, tokens.hash(), split.hash(), str(max_length)])
    path = cache_folder(cache_dir) / "tokens" / f"{hashlib.sha256(key.encode()).hexdigest()}.npz"
    arrays = _read_cache(path, len(split))
    if arrays is None:
        arrays = tokens.encode(split.texts, max_length or WHOLE_DOCUMENT)
        try:
            with atomic_write(path) as temporary, open(temporary, "wb") as stream:
                np.savez(
                    stream,
                    ids=arrays.ids,
                    offsets=arrays.offsets,
                    unknown_only=np.int64(arrays.unknown_only),
                    truncated=np.int64(arrays.truncated),
                )
        except PlantError as error:
            logger.warning("The token cache is not kept: %s", error)
    return arrays


def _read_cache(path: Path, documents: int) -> TokenArrays | None:
    if not path.is_file():
        return None
    try:
        with zipfile.ZipFile(path) as archive:
            ids, offsets, *counts = (_mapped(path, archive.getinfo(f"{name}.npy")) for name in ARRAYS)
        arrays = TokenArrays(ids, offsets, *map(int, counts))
    except (OSError, ValueError, KeyError, EOFError, struct.error, zipfile.BadZipFile, zlib.error):
        logger.warning("The token cache %s is damaged and made again.", path.name)
        return None
    complete = len(arrays) == documents and int(arrays.offsets[-1]) == len(arrays.ids)
    return arrays if complete else None


def _mapped(path: Path, member: zipfile.ZipInfo) -> npt.NDArray[Any]:
    """An array of an uncompressed ``.npz`` where it lies in the file, after a look at its checksum.

    Raises:
        ValueError: The member is compressed, not an array, or not what was written.
    """
    if member.compress_type != zipfile.ZIP_STORED:
        raise ValueError("compressed")
    with open(path, "rb") as stream:
        stream.seek(member.header_offset + LOCAL_HEADER - 4)
        start = member.header_offset + LOCAL_HEADER + sum(struct.unpack("<HH", stream.read(4)))  # name, extra field
        if zlib.crc32(np.memmap(stream, np.uint8, "r", start, (member.file_size,)).data) != member.CRC:
            raise ValueError("changed")
        stream.seek(start)
        np.lib.format.read_magic(stream)
        shape, _, kind = np.lib.format.read_array_header_1_0(stream)
        if 0 in shape:
            return np.empty(shape, kind)
        return np.memmap(stream, kind, "r", stream.tell(), shape)
