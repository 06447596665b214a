"""Documents to predict for, from files of every form, good and bad."""

from __future__ import annotations

import csv
import gzip
import io
import json
import lzma
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plant_plugin.commands import prediction_forms as command
from plant_plugin.data.tables import Columns, Document, Table
from plant_plugin.errors import DataError
from plant_plugin.files import LIMITS, LONGEST_LINE
from plant_plugin.model import prediction_files as formats

SECRET = "SECRETNOTE"


NEW = Columns(labels=None)  # what is read of documents to predict for


def pairs(path: Path, content: str | bytes, form: str | None = None, columns: Columns = NEW) -> list[tuple[str, str]]:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return [(document.name, document.text) for document in Table(path, form, columns)]


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("notes.txt", "one\n\ntwo words\n", [("1", "one"), ("2", ""), ("3", "two words")]),
        ("notes.txt", "one\r\ntwo", [("1", "one"), ("2", "two")]),
        ("notes.txt", "A B\tone\n\nA\ttwo\n", [("1", "one"), ("2", "two")]),
        ("notes.txt", "\nA\tone\nB\ttwo\n", [("1", "one"), ("2", "two")]),
        ("notes.txt", "\none\n", [("1", ""), ("2", "one")]),
        ("notes.csv", "\ntext\na\n", [("1", "a")]),
        ("notes.txt", "d7\tA B\tone\nd8\t\ttwo\n", [("d7", "one"), ("d8", "two")]),
        ("notes.jsonl", '{"id": 7, "text": "a\\nb"}\n\n{"text": ""}\n', [("7", "a\nb"), ("2", "")]),
        ("notes.csv", 'id,text\n7,"a,\n""b"""\n8,c\n', [("7", 'a,\n"b"'), ("8", "c")]),
        ("notes.csv", "text\na\n\nb", [("1", "a"), ("2", "b")]),
        ("notes.csv", "", []),
        ("notes.txt", "", []),
        ("notes.txt", "\ufeffone\n", [("1", "one")]),
    ],
)
def test_every_form(tmp_path: Path, name: str, content: str, expected: list[tuple[str, str]]) -> None:
    assert pairs(tmp_path / name, content) == expected


def test_what_the_caller_says_beats_the_guess(tmp_path: Path) -> None:
    path = tmp_path / "note.csv"
    assert pairs(path, "one\ttwo\n", "lines") == [("1", "one\ttwo")]
    assert pairs(path, "one,\ntwo\n", "text") == [("1", "one,\ntwo\n")]
    assert pairs(path, "a,b\nc,d\n", columns=Columns("b", None, "a")) == [("c", "d")]


@pytest.mark.parametrize(("ending", "opener"), [(".gz", gzip.open), (".xz", lzma.open)])
def test_compressed(tmp_path: Path, ending: str, opener: Any) -> None:
    path = tmp_path / f"notes.jsonl{ending}"
    with opener(path, "wb") as stream:
        stream.write(b'{"text": "one"}\n')
    assert [document.text for document in Table(path, None, NEW)] == ["one"]
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(DataError, match="cut off"):
        list(Table(path, None, NEW))


def test_standard_input_is_left_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"one\ntwo\n")))
    assert [document.text for document in Table("-", None, NEW)] == ["one", "two"]


BAD = [
    ("bad.jsonl", f'{{"text": "a"}}\n{{"text": "{SECRET}\n', None, 2, "no JSON"),
    ("bad.jsonl", f'{{"text": "a"}}\n["{SECRET}"]\n', None, 2, "no JSON object"),
    ("bad.jsonl", f'{{"text": "a"}}\n{{"text": 3, "x": "{SECRET}"}}\n', None, 2, "the text under 'text' is a int"),
    ("bad.jsonl", f'{{"text": "a"}}\n{{"text": "\\ud800 {SECRET}"}}\n', None, 2, "UTF-8"),
    ("bad.jsonl", '{"text": "a"}\n' + "[" * 100_000 + "\n", None, 2, "no JSON"),
    ("bad.txt", f"A\ta\nB\tc\t{SECRET}\n", None, 2, "columns: 3, and the first line has 2"),
    ("bad.txt", f"a\nb\t{SECRET}\n", None, 2, "a TAB, and the first line has none"),
    ("bad.txt", b"a\n\xff\xfe" + SECRET.encode() + b"\n", None, 2, "UTF-8"),
    ("bad.txt", f"a\n\0{SECRET}\n", None, 2, "NUL"),
    ("bad.csv", f"id,text\n1,a\n2,b,{SECRET}\n", None, 3, "columns: 3, and the header has 2"),
    ("bad.csv", f'id,text\n1,a\n2,"{SECRET}\n3,b\n', None, 3, "no row of a table"),
]


@pytest.mark.parametrize(("name", "content", "form", "line", "message"), BAD)
def test_a_bad_line_is_told_by_its_number_and_passed_over_on_demand(
    tmp_path: Path, name: str, content: Any, form: str | None, line: int, message: str
) -> None:
    path = tmp_path / name
    with pytest.raises(DataError, match=f"line {line}: .*{message}") as stopped:
        pairs(path, content, form)
    assert SECRET not in str(stopped.value)
    documents = Table(path, form, NEW, skip_bad=True)
    assert [document.text for document in documents] == ["a"]
    assert (documents.skipped.count, documents.skipped.lines) == (1, [line])


def test_lines_of_one_column_are_not_labels_and_text(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="found 1"):
        pairs(tmp_path / "a.txt", "text\n", "libmultilabel")


def test_skipped_lines_keep_the_numbers_of_the_others(tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text("".join('{"text": "a"}\n' if place % 2 else "broken\n" for place in range(20)))
    documents = Table(path, None, NEW, skip_bad=True)
    assert [document.name for document in documents] == [str(number) for number in range(2, 21, 2)]
    assert documents.skipped.count == 10
    assert documents.skipped.lines == [1, 3, 5, 7, 9]


def test_a_binary_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"line 1: (a NUL byte|not valid UTF-8)"):
        pairs(tmp_path / "picture.txt", bytes(range(256)) * 100)


def test_a_line_without_end_does_not_fill_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LIMITS, str(1000 / LONGEST_LINE))
    for form in ("lines", "text", "jsonl"):
        with pytest.raises(DataError, match="more than 1,000 characters"):
            pairs(tmp_path / "a.txt", "a" * 1001, form)
    assert pairs(tmp_path / "a.txt", "a" * 1000, "lines") == [("1", "a" * 1000)]


def test_no_file_and_no_column(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        list(Table(tmp_path / "none.txt", None, NEW))
    with pytest.raises(DataError, match=r"no column 'text'\n"):
        pairs(tmp_path / "a.csv", "id,note\n1,a\n")
    with pytest.raises(DataError, match="several columns are called 'id'"):
        pairs(tmp_path / "a.csv", "id,text,id\n1,a,2\n")


texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30)


@given(st.lists(texts, min_size=1, max_size=5))
def test_json_lines_and_tables_bring_any_text_through(
    tmp_path_factory: pytest.TempPathFactory, given_texts: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("any")
    table = io.StringIO(newline="")
    writer = csv.writer(table)
    writer.writerows([["id", "text"], *[[place, text] for place, text in enumerate(given_texts)]])
    lines = "".join(json.dumps({"text": text}) + "\n" for text in given_texts)
    for name, content in (("a.csv", table.getvalue()), ("a.jsonl", lines)):
        assert [text for _, text in pairs(folder / name, content)] == given_texts


def test_the_command_offers_what_there_is() -> None:
    assert (*formats.FORMATS, "fhir") == command.OUTPUTS


def test_a_document_does_not_print_its_text() -> None:
    assert SECRET not in repr(Document(SECRET))
