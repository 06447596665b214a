"""Search in ascending numbers against numpy's."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from plant_plugin.networks.kernels.ascending import first_at

NUMBERS = st.integers(-3, 9)


@settings(deadline=None)  # it compiles first
@given(st.lists(NUMBERS, max_size=12), NUMBERS, st.integers(0, 12), st.integers(0, 12))
def test_the_first_place_is_that_of_numpy(numbers: list[int], wanted: int, one: int, other: int) -> None:
    places = np.sort(np.array(numbers, np.int32))
    first, last = sorted(min(end, len(places)) for end in (one, other))
    assert first_at(places, first, last, wanted) == first + np.searchsorted(places[first:last], wanted)
