from __future__ import annotations

import csv
import gzip
from collections import Counter
from pathlib import Path

import pytest

from plant_plugin.errors import DataError
from plant_plugin.files import LIMITS
from plant_plugin.prepare.mimic.tables import find_table, read_id, read_table


def rows(path: Path, *columns: str) -> list[tuple[int, list[str]]]:
    return list(read_table(path, columns))


def write(folder: Path, content: bytes, name: str = "T.csv") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_quotes_line_breaks_and_line_numbers(end: bytes, tmp_path: Path) -> None:
    content = b'a,"b",c' + end + b'1,"two' + end + b'lines, ""quoted""",3' + end + b"4,,038.90" + end
    text = f'two{end.decode()}lines, "quoted"'
    # The second row starts in line 4, because the first one takes two.
    assert rows(write(tmp_path, content), "C", "B") == [(2, ["3", text]), (4, ["038.90", ""])]


def test_a_byte_order_mark_and_empty_lines(tmp_path: Path) -> None:
    assert rows(write(tmp_path, b"\xef\xbb\xbfa,b\n\n1,2\n\n"), "a") == [(3, ["1"])]


def test_find_table(tmp_path: Path) -> None:
    (tmp_path / "noteevents.csv.gz").touch()
    assert find_table(tmp_path, "NOTEEVENTS").name == "noteevents.csv.gz"
    (tmp_path / "NOTEEVENTS.csv").touch()
    assert find_table(tmp_path, "NOTEEVENTS").name == "NOTEEVENTS.csv"
    with pytest.raises(DataError, match="the table DIAGNOSES_ICD is missing"):
        find_table(tmp_path, "DIAGNOSES_ICD")
    with pytest.raises(DataError, match="no such folder"):
        find_table(tmp_path / "none", "DIAGNOSES_ICD")


def cut(content: bytes) -> bytes:
    return gzip.compress(content)[:-20]


LONG = b"a,b\n" + b"secret,value\n" * 50_000


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("T.csv", b"a,B2\nsecret,2\n", "line 1: no column b\n"),
        ("T.csv", b"", "the file is empty"),
        ("T.csv", b"a,b\n1,2\nsecret\n", "line 3: 1 columns where the header has 2"),
        ("T.csv", b"a,b\n1,2\n1,2,secret\n", "line 3: 3 columns where the header has 2"),
        ("T.csv", b'a,b\n1,2\n3,"secret\nvalue\n', "line 3: no row of a table\n.*a quote that never closes"),
        ("T.csv", b'a,b\n1,"secret"x\n', "line 2: no row of a table"),
        ("T.csv", b"a,b\n1,\xff\n", "not valid UTF-8"),
        ("T.csv.gz", cut(LONG), "the compressed file is cut off"),
        ("T.csv.gz", LONG, "not a .gz file"),
    ],
)
def test_bad_files(name: str, content: bytes, message: str, tmp_path: Path) -> None:
    path = write(tmp_path, content, name)
    with pytest.raises(DataError, match=message) as caught:
        rows(path, "a", "b")
    assert str(path) in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_quote_that_swallows_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LIMITS, "1e-5")
    most = csv.field_size_limit()  # of the whole process
    with pytest.raises(DataError, match="line 2: no row of a table"):
        rows(write(tmp_path, b'a,b\n1,"' + b"secret\n" * 1000), "a")
    csv.field_size_limit(most)


def test_ids(tmp_path: Path) -> None:
    counts: Counter[str] = Counter()
    assert [read_id(text, "X", tmp_path, 1, counts) for text in ("12", " 12 ", "", "12.0")] == [12, 12, None, 12]
    assert counts == {"ids_saved_as_floats": 1}
