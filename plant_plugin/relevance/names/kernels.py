"""Compiled loops of this folder; imported where they are needed, because numba takes a while."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(nogil=True, cache=True)
def cover_of_text(  # type: ignore[no-untyped-def]
    stems, weights, offsets, names, other_offsets, others, rest, idf, total, least
):
    """Return the names of whose idf ``stems`` of a text hold the share ``least``, and the share that they hold.

    ``offsets`` cut ``names`` by the stem that they are looked for by, ``other_offsets`` cut the ``others`` by name;
    those may hold ``rest``.
    """
    of_stem, sums = np.zeros(len(idf), np.float32), np.zeros(len(total), np.float32)
    touched, length = np.empty(len(total), np.int32), 0
    for place in range(len(stems)):
        stem = stems[place]
        value = weights[place] * idf[stem]
        of_stem[stem] = value
        for entry in range(offsets[stem], offsets[stem + 1]):
            name = np.uint64(names[entry])
            if sums[name] == 0:
                touched[length] = name
                length += 1
            sums[name] += value
    shares, most = np.empty(length, np.float32), 0
    for place in range(length):
        name = np.uint64(touched[place])
        held = sums[name]
        if held + rest[name] >= least * total[name]:
            for entry in range(other_offsets[name], other_offsets[name + 1]):
                held += of_stem[np.uint64(others[entry])]
            if held >= least * total[name]:
                touched[most], shares[most] = name, held / total[name]
                most += 1
    return touched[:most].copy(), shares[:most].copy()
