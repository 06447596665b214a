from __future__ import annotations

import numpy as np

from plant_plugin.data.token_arrays import TokenArrays


def test_documents_without_a_known_token_are_counted() -> None:
    arrays = TokenArrays.from_flat(np.array([1, 4, 1, 0], np.int32), [2, 0, 2], special=(0, 1), truncated=1)
    assert arrays.offsets.tolist() == [0, 2, 2, 4]
    assert (arrays.unknown_only, arrays.truncated) == (2, 1)
    assert (arrays.ids.dtype, arrays.offsets.dtype) == (np.int32, np.int64)


def test_documents_follow_others() -> None:
    first = TokenArrays.from_flat(np.array([5, 6], np.int32), [2], special=())
    both = first.followed_by(TokenArrays.from_flat(np.array([7], np.int32), [0, 1], special=()))
    assert (both.ids.tolist(), both.offsets.tolist(), both.lengths.tolist()) == ([5, 6, 7], [0, 2, 2, 3], [2, 0, 1])
    assert both.unknown_only == first.unknown_only
