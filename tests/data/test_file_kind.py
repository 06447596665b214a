from __future__ import annotations

import pytest

from plant_plugin.data.file_kind import KINDS, encoding_of
from plant_plugin.errors import DataError


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "utf-8-sig", "utf-8"])
def test_a_mark_says_the_encoding(encoding: str) -> None:
    data = "labels\tcafé".encode(encoding)
    assert data.decode(encoding_of(data, "t.txt")) == "labels\tcafé"


@pytest.mark.parametrize(("magic", "name"), [(magic, name) for magic, name, _ in KINDS])
def test_what_is_no_text_is_named_with_its_cure(magic: bytes, name: str) -> None:
    with pytest.raises(DataError, match=name.replace("(", r"\(").replace(")", r"\)")) as error:
        encoding_of(magic + b"rest", "my.txt")
    assert "my.txt" in str(error.value)
    assert "iconv" not in str(error.value)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf16_without_a_mark_is_named(encoding: str) -> None:
    with pytest.raises(DataError, match=encoding.replace("utf-16-", "iconv -f utf-16")):
        encoding_of("I10\tpressure".encode(encoding), "t.txt")


def test_what_was_asked_for_counts_where_there_is_no_mark() -> None:
    assert encoding_of("café".encode("latin-1"), "t.txt", "latin-1") == "latin-1"
    assert encoding_of(b"", "t.txt") == "utf-8-sig"
