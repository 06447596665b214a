"""One string is not several: every function that programs call with several values refuses it."""

from __future__ import annotations

import pytest

from plant_plugin.data.label_names import label_names
from plant_plugin.data.several import several
from plant_plugin.errors import ConfigError


@pytest.mark.parametrize("string", ["icd10", b"icd10"])
def test_one_string_is_refused(string: str) -> None:
    with pytest.raises(ConfigError, match="where: one string, where any number is expected"):
        several(string, "where")
    with pytest.raises(ConfigError, match="sources: one string"):
        label_names(string)


def test_others_are_as_they_were() -> None:
    values = (value for value in "ab")
    assert several(values, "where") is values
