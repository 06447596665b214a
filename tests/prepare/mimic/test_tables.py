from __future__ import annotations

import csv
import gzip
from pathlib import Path

import pytest

from plant_plugin.errors import DataError
from plant_plugin.files import LIMITS
from plant_plugin.prepare.mimic import tables as codes
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
        ("T.csv", b"a,b\n1,2\nsecret\n", "line 3: columns: 1, and the header has 2"),
        ("T.csv", b"a,b\n1,2\n1,2,secret\n", "line 3: columns: 3, and the header has 2"),
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
    assert [read_id(text, "X", tmp_path, 1) for text in ("12", " 12 ", "")] == [12, 12, None]


@pytest.mark.parametrize(
    ("version", "kind", "code", "dotted"),
    [
        (9, "diagnosis", "0389", "038.9"),
        (9, "diagnosis", "25000", "250.00"),
        (9, "diagnosis", "311", "311"),
        (9, "diagnosis", "V1582", "V15.82"),
        (9, "diagnosis", "E8889", "E888.9"),
        (9, "diagnosis", "E888", "E888"),
        (9, "procedure", "0331", "03.31"),
        (9, "procedure", "331", "33.1"),
        (10, "diagnosis", "I5022", "I50.22"),
        (10, "diagnosis", "I10", "I10"),
        (10, "diagnosis", "E119", "E11.9"),  # E is no external cause here
        (10, "procedure", "02100Z9", "02100Z9"),
    ],
)
def test_dots(version: int, kind: str, code: str, dotted: str) -> None:
    assert codes.dotted(code, version, kind) == dotted


@pytest.mark.parametrize(
    ("code", "read"),
    [
        ("03.31", "33.1"), ("33.1", "33.1"), ("99.10", "99.1"), ("99.04", "99.04"), ("00.66", "66.0"),
        ("37.22", "37.22"), ("038.9", "038.9"), ("E888.9", "E888.9"),
        ("V15.82", "V15.82"), ("311", "311"), ("250.00", "250.00"),
    ],
)  # fmt: skip
def test_as_caml_reads(code: str, read: str) -> None:
    assert codes.as_caml_reads(code) == read


def test_caml_reading_is_what_pandas_does() -> None:
    """The number that pandas makes of a column without a type, twice, is the source of the difference."""
    import io

    import pandas as pd

    column = pd.read_csv(io.StringIO('code\n"0331"\n"9910"\n"0066"\n"3722"\n'))["code"]
    dotted = [f"{str(code)[:2]}.{str(code)[2:]}" for code in column]
    again = pd.read_csv(io.StringIO("\n".join(["code", *dotted])))["code"]
    assert [str(code) for code in again] == [codes.as_caml_reads(code) for code in ("03.31", "99.10", "00.66", "37.22")]


@pytest.mark.parametrize("code", ["38.9", "038.9", "4.1E+2", "41E+2", "7", "41", "0389 4019"])
def test_codes_that_were_numbers(code: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="line 7: icd_code holds a code that was read as a number") as caught:
        codes.clean_code(code, "icd_code", tmp_path / "T.csv", 7)
    assert f"{code} " not in str(caught.value)


def test_clean_code(tmp_path: Path) -> None:
    assert [codes.clean_code(code, "c", tmp_path, 1) for code in ("0389   ", "v1582", "", " ")] == [
        "0389",
        "V1582",
        "",
        "",
    ]
