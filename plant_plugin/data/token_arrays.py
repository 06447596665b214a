"""Token ids of a whole split as plain arrays."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

WHOLE_DOCUMENT = 2**31 - 1  # max_seq_length: null


@dataclass
class TokenArrays:
    """All documents of a split as one run of token ids."""

    ids: npt.NDArray[np.int32]  # every document's ids one after the other
    offsets: npt.NDArray[np.int64]  # (N+1,); document i is ids[offsets[i]:offsets[i + 1]]
    unknown_only: int = 0  # how many documents have no known token: all unknown, or no token at all; they are kept
    truncated: int = 0  # how many documents were longer than what was read of them

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """Return tokens of each document, (N,) int64; may be 0."""
        return np.diff(self.offsets)

    def followed_by(self, others: TokenArrays) -> TokenArrays:
        """Return these documents and others after them; both counts stay those of these."""
        offsets = np.concatenate([self.offsets, self.offsets[-1] + others.offsets[1:]])
        return TokenArrays(np.concatenate([self.ids, others.ids]), offsets, self.unknown_only, self.truncated)

    @classmethod
    def from_flat(
        cls, ids: array[int] | npt.NDArray[np.int32], lengths: npt.ArrayLike, special: Iterable[int], truncated: int = 0
    ) -> TokenArrays:
        """Pack ids and lengths; the ids of ``special`` do not make a document known."""
        flat = np.asarray(ids, dtype=np.int32)
        offsets = np.concatenate([[0], np.cumsum(np.asarray(lengths, dtype=np.int64))]).astype(np.int64)
        known = np.concatenate([[0], np.cumsum(~np.isin(flat, list(special)))])
        return cls(flat, offsets, int(np.count_nonzero(known[offsets[1:]] == known[offsets[:-1]])), truncated)
