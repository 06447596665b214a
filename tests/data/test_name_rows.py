from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from plant_plugin.data.name_rows import HEADER, name_columns, table_rows, table_text
from plant_plugin.errors import DataError


@pytest.mark.parametrize("role", range(3))
def test_a_header_may_call_a_column_by_any_of_its_names(tmp_path: Path, role: int) -> None:
    usual = ["language", "code", "name"]
    for called in HEADER[role]:
        columns = [called if place == (role + 1) % 3 else name for place, name in enumerate(usual)]
        (path := tmp_path / "names.tsv").write_text("\t".join(columns).upper() + "\nen\tL1\tone\n")
        assert name_columns(path) == ([(f"{path}, line 2", ["L1", "one", "en"])], False)


def test_only_a_table_without_a_header_may_have_tabs_in_names(tmp_path: Path) -> None:
    for name, content, free in (("n.tsv", "L1\tone\n", True), ("n.csv", "L1,one\n", False), ("n.csv", "", False)):
        (path := tmp_path / name).write_text(content)
        assert name_columns(path)[1] is free


ROWS = [("A00.0", "Cholera, classical", "en"), ("A00.0", "Cólera", "es"), ("B01", "Chickenpox", "")]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("names.tsv", "A00.0\tCholera, classical\ten\nA00.0\tCólera\tes\n\nB01\tChickenpox\n"),
        ("names.txt", "A00.0\tCholera, classical\ten\r\nA00.0\tCólera\tes\r\n \nB01\tChickenpox\t\r\n"),
        ("names.tsv", "lang\tName\tcode\nen\tCholera, classical\tA00.0\nes\tCólera\tA00.0\n\tChickenpox\tB01\n"),
        ("names.csv", 'A00.0,"Cholera, classical",en\nA00.0,Cólera,es\nB01,Chickenpox,\n'),
        ("names.csv", '"A00.0";"Cholera, classical";"en"\r\n"A00.0";Cólera;es\r\nB01;Chickenpox;\r\n'),
        ("names.csv", "sep=;\nlabel;name;language\nA00.0;Cholera, classical;en\nA00.0;Cólera;es\nB01;Chickenpox;\n"),
        ("names.csv", 'description,code,lang\n"Cholera, classical",A00.0,en\nCólera,A00.0,es\nChickenpox,B01,\n'),
    ],
)
def test_every_way_to_write_a_table(tmp_path: Path, name: str, content: str) -> None:
    (path := tmp_path / name).write_text(content, encoding="utf-8", newline="")
    assert list(table_rows(path)) == ROWS
    (packed := tmp_path / f"{name}.gz").write_bytes(gzip.compress(content.encode()))
    assert list(table_rows(packed)) == ROWS


def test_labels_and_languages_are_written_as_elsewhere_and_empty_names_are_none(tmp_path: Path) -> None:
    (path := tmp_path / "names.tsv").write_text("heart failure\t heart failure \tes_MX\nL2\t\nL3\t\ten\n")
    assert list(table_rows(path)) == [("heart_failure", "heart failure", "es-MX")]
    path.write_text("")
    assert list(table_rows(path)) == []


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("names.tsv", "L1\tone\nL2 two\n", "line 2: no TAB"),
        ("names.tsv", "L1\tone\ten\nL1\tuno\tes\nL2\ta\tb three\n", "line 3: 3 columns, of which the third"),
        ("names.tsv", "L1\tone\ten\nL1\tuno\tes\nL2\ttwo\ten\tthree\n", "line 3: 4 columns\n"),
        ("names.csv", "L1,one,en,more\n", "line 1: 4 columns\n"),
        ("names.tsv", "L1\tone\n\ttwo\n", "line 2: a name without a label"),
        ("names.tsv", "code\tname\tchapter\nL1\tone\ttwo\n", "line 1: 3 columns, of which label, name and language"),
        ("names.tsv", "lang\tname\tcode\nen\tone\tL1\nen\tthree\n", "line 3: columns: 2, and the header has 3"),
        ("names.csv", "L1,one\nL2,two,three\n", "line 2: columns: 3, and the header has 2"),
        ("names.csv", "L1 one\n", "line 1: a single column"),
        ("names.csv", 'L1,"one\nL2,two\n', "line 1: no row of a table"),
        ("names.csv", "L1,one,two three\n", "line 1: 3 columns, of which the third"),
    ],
)
def test_lines_that_are_not_of_the_format(tmp_path: Path, name: str, content: str, said: str) -> None:
    (path := tmp_path / name).write_text(content)
    with pytest.raises(DataError) as error:
        list(table_rows(path))
    assert said in str(error.value)
    assert error.value.fix
    assert "three" not in str(error.value)  # no content


def test_a_tab_within_a_name_stays_one_where_nothing_says_that_languages_stand_there(tmp_path: Path) -> None:
    (path := tmp_path / "names.tsv").write_text("L1\tone\ttwo three\nL2\ttwo\nL3\tthree\tis\n")
    said: list[str] = []
    assert list(table_rows(path, said.append)) == [
        ("L1", "one\ttwo three", ""), ("L2", "two", ""), ("L3", "three\tis", "")
    ]  # fmt: skip
    assert said == ["names.tsv: 2 names hold a TAB, which is read as part of them; no languages"]
    assert table_text(table_rows(path)) == "L1\tone two three\nL2\ttwo\nL3\tthree is\n"
