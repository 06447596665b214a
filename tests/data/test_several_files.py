"""Several files and folders of texts: all of their documents, each by its name, and an error for each that is none."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest

from plant_plugin.data.columns import DEFAULT
from plant_plugin.data.several_files import Files, documents_of
from plant_plugin.data.tables import Table
from plant_plugin.errors import DataError

COLUMNS = DEFAULT._replace(labels=None)
SECRET = "Jane Roe"  # must be in no message


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of texts, with one in a folder in it, one that is compressed, and two files that are no texts."""
    monkeypatch.chdir(tmp_path)
    folder = Path("notes")
    (folder / "ward").mkdir(parents=True)
    for name in ("b.txt", "a.txt", "ward/a.txt"):
        (folder / name).write_text(f"first line of {name}\nsecond", encoding="utf-8")
    with gzip.open(folder / "c.TXT.gz", "wt", encoding="utf-8") as stream:
        stream.write("packed")
    (folder / "scan.pdf").write_bytes(b"%PDF")
    (folder / ".hidden.txt").write_bytes(b"\0")
    return folder


def read(*sources: object, form: str | None = None, skip_bad: bool = False) -> list[tuple[str, str]]:
    return [(each.name, each.text) for each in documents_of([*map(str, sources)], form, COLUMNS, skip_bad)]


def names(*sources: object, form: str | None = None) -> list[str]:
    return [name for name, _ in read(*sources, form=form)]


def test_a_folder_of_texts_in_the_order_of_their_names(notes: Path) -> None:
    documents = documents_of([str(notes)], None, COLUMNS)
    assert [(each.name, each.number) for each in documents] == [
        ("a.txt", 1), ("b.txt", 2), ("c.TXT.gz", 3), ("ward/a.txt", 4)
    ]  # fmt: skip
    assert documents.note == "files of the folders that are no .txt and were not read: 2"
    assert read(notes)[1:3] == [("b.txt", "first line of b.txt\nsecond"), ("c.TXT.gz", "packed")]
    assert read(notes) == read(notes.absolute())


def test_several_files_have_names_below_the_folder_of_all(notes: Path) -> None:
    assert names(notes / "b.txt", notes / "a.txt") == ["b.txt", "a.txt"]
    assert names(notes / "b.txt", notes / "ward" / "a.txt") == ["b.txt", "ward/a.txt"]
    assert names(notes / "ward", "notes/b.txt") == ["ward/a.txt", "b.txt"]
    assert names(notes / "ward" / "a.txt", form="text") == ["a.txt"]


def test_rows_of_several_tables_keep_their_ids_or_get_name_and_number(notes: Path) -> None:
    (notes / "with.csv").write_text("text,id\nfever,x\ncough,\n", encoding="utf-8")
    (notes / "without.jsonl").write_text(f"{json.dumps({'text': 'one'})}\n" * 2, encoding="utf-8")
    assert names(notes / "with.csv", notes / "without.jsonl", notes / "a.txt") == [
        "x", "with.csv:2", "without.jsonl:1", "without.jsonl:2", "a.txt"
    ]  # fmt: skip
    assert names(notes / "a.txt", notes / "b.txt", form="lines") == ["a.txt:1", "a.txt:2", "b.txt:1", "b.txt:2"]
    assert names(notes / "ward", form="lines") == ["a.txt:1", "a.txt:2"]


def test_one_file_or_standard_input_is_read_as_ever(notes: Path) -> None:
    for sources in ([], ["-"], [str(notes / "a.txt")]):
        assert type(documents_of(sources, None, COLUMNS)) is Table
    assert names(notes / "a.txt") == ["1", "2"]


def test_a_folder_that_datasets_saved_is_a_table(notes: Path) -> None:
    (notes / "data.arrow").touch()
    assert type(documents_of([str(notes)], None, COLUMNS)) is Table


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "bad.txt: the file is empty"),
        (b" \n\n", "bad.txt: the file holds no text"),
        (f"{SECRET} \xe9".encode("latin-1"), "bad.txt, line 1: not valid UTF-8"),
        (b"\0" + SECRET.encode(), "bad.txt"),
        (f"A\t{SECRET}\nB\t{SECRET}\n".encode(), "bad.txt: each of its lines has a TAB"),
    ],
)
def test_what_is_no_document_is_an_error_that_names_the_file(notes: Path, content: bytes, message: str) -> None:
    (notes / "bad.txt").write_bytes(content)
    for sources in ([notes], [notes / "a.txt", notes / "bad.txt"]):
        with pytest.raises(DataError, match=message) as caught:
            read(*sources)
        assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "content"), [("bad.txt", b""), ("bad.txt", b" "), ("bad.txt", b"\xe9"), ("bad.csv", b"text\n")]
)
def test_what_is_no_document_can_be_passed_over_and_is_counted(notes: Path, name: str, content: bytes) -> None:
    (notes / name).write_bytes(content)
    documents = documents_of(
        [*map(str, (notes / "a.txt", notes / name, notes / "b.txt"))], None, COLUMNS, skip_bad=True
    )
    assert [each.name for each in documents] == ["a.txt", "b.txt"]
    assert documents.skipped.count == 1
    assert name in str(documents.skipped.lines[0])


def test_a_table_without_rows_is_an_error_too(notes: Path) -> None:
    (notes / "none.csv").write_text("text\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"none\.csv: the file holds no document"):
        read(notes / "none.csv", notes / "a.txt")


@pytest.mark.parametrize(
    ("sources", "message"),
    [
        (["nowhere.txt", "notes"], "nowhere.txt: no such file"),
        (["notes", "notes/a.txt"], "notes/a.txt: the file is named twice"),
        (["-", "notes"], "standard input is read alone"),
        (["empty"], "no .txt, .arrow or .parquet files in this folder"),
        (["notes", "link.txt"], "link.txt: no such file"),
    ],
)
def test_what_is_not_there_is_told_before_anything_is_read(notes: Path, sources: list[str], message: str) -> None:
    Path("empty").mkdir()
    Path("link.txt").symlink_to("gone")
    with pytest.raises(DataError, match=message):
        documents_of(sources, None, COLUMNS)


def test_splits_are_named_where_a_folder_holds_them(notes: Path) -> None:
    (Path("saved") / "test").mkdir(parents=True)
    (Path("saved") / "test" / "data.arrow").touch()
    with pytest.raises(DataError, match=r"name a split of it, e\.g\. saved/test"):
        documents_of(["saved"], None, COLUMNS)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_what_cannot_be_read_is_an_error_that_names_it(notes: Path) -> None:
    (notes / "ward" / "a.txt").chmod(0)
    with pytest.raises(DataError, match=r"a\.txt: the file cannot be read"):
        documents_of(["notes"], None, COLUMNS)
    (notes / "ward").chmod(0)
    with pytest.raises(DataError, match=r"notes: the file cannot be read"):
        documents_of(["notes"], None, COLUMNS)
    (notes / "ward").chmod(0o700)


def test_it_can_be_read_twice(notes: Path) -> None:
    documents = documents_of(["notes"], None, COLUMNS)
    assert isinstance(documents, Files)
    assert list(documents) == list(documents)
