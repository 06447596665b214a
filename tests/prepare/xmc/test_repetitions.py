from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from click.testing import CliRunner
from made_up_xmc import text_lines

from plant_plugin.cli import plant
from plant_plugin.errors import DataError
from plant_plugin.prepare.xmc.repetitions import find_repetition
from plant_plugin.prepare.xmc.xmc import prepare_xmc

ROWS = ["5 3 3", "0,1 0:1 2:1", "2 1:1", "0 1:1", "1 2:1", " 0:1"]
TRAIN, TEST = ["1 2", "2 3", "4 1"], ["3 5"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    source = tmp_path / "Bibtex"
    for name, lines in {"Bibtex_data.txt": ROWS, "bibtex_trSplit.txt": TRAIN, "bibtex_tstSplit.txt": TEST}.items():
        text_lines(source / name, lines)
    text_lines(tmp_path / "words.txt", ["a", "b", "c"])
    return source


def prepared(folder: Path, repetition: int | None = None) -> tuple[str, str]:
    out = folder.parent / "out"
    prepare_xmc(folder, out, vocabulary=folder.parent / "words.txt", repetition=repetition)
    train, test = ((out / f"{split}.txt").read_text() for split in ("train", "test"))
    return train, test


def test_numbers_count_documents_from_one_in_a_column_of_each_repetition(folder: Path) -> None:
    assert prepared(folder) == ("0 1\ta c\n2\tb\n1\tc\n", "0\tb\n")
    assert prepared(folder, 2) == ("2\tb\n0\tb\n0 1\ta c\n", "\ta\n")


def test_the_repetition_and_who_is_left_out_are_said(folder: Path) -> None:
    text_lines(folder / "bibtex_tstSplit.txt", ["1 5"])
    call = ["prepare", "xmc", str(folder), str(folder.parent / "out"), "--vocabulary", str(folder.parent / "words.txt")]
    done = CliRunner().invoke(plant, call)
    assert done.exit_code == 0, done.output
    said = {" ".join(line.split()) for line in done.stdout.splitlines()}
    assert {"repetition 1", "repetitions 2", "documents in neither 2"} <= said
    assert "note: 1 documents are in training and in test" in done.stderr


def test_tabs_capitals_and_compressed_files(folder: Path) -> None:
    text_lines(folder / "bibtex_trSplit.txt", [line.replace(" ", "\t") + " " for line in TRAIN])
    (folder / "Bibtex_data.txt").unlink()
    with gzip.open(folder / "bibtex_DATA.txt.gz", "wt") as stream:
        stream.write("\n".join([ROWS[0].replace(" ", "\t"), *ROWS[1:]]))
    assert prepared(folder) == ("0 1\ta c\n2\tb\n1\tc\n", "0\tb\n")


@pytest.mark.parametrize(
    ("name", "lines", "message"),
    [
        ("bibtex_trSplit.txt", ["0 2"], "trSplit.txt, line 1: something that is no number of a document, from 1 to 5"),
        ("bibtex_trSplit.txt", ["1 2", "6 1"], "trSplit.txt, line 2: something that is no number"),
        ("bibtex_trSplit.txt", ["1 secret"], "trSplit.txt, line 1: something that is no number"),
        ("bibtex_trSplit.txt", ["1 2", "2"], "line 2: 1 numbers, the first line has 2"),
        ("bibtex_trSplit.txt", ["1 2", "1 3"], "column 1: a document twice"),
        ("bibtex_trSplit.txt", [], "trSplit.txt: no numbers of documents"),
        ("bibtex_tstSplit.txt", ["3"], "no repetition 1 in both: train has 2, test 1"),
        ("other_tstSplit.txt", ["3"], "several files for one purpose: bibtex_tstSplit.txt, other_tstSplit.txt"),
        ("Bibtex_data.txt", ["1:2"], "numbers of documents without the documents"),
        ("filter_labels_test.txt", ["0 1"], "a filter file, and several divisions"),
    ],
)
def test_numbers_that_do_not_fit(name: str, lines: list[str], message: str, folder: Path) -> None:
    text_lines(folder / name, lines)
    with pytest.raises(DataError, match=message) as caught:
        prepared(folder)
    assert "secret" not in str(caught.value)
    assert not (folder.parent / "out").exists()


def test_what_is_missing_or_not_there(folder: Path) -> None:
    with pytest.raises(DataError, match="no repetition 3"):
        prepared(folder, 3)
    (folder / "bibtex_tstSplit.txt").unlink()
    with pytest.raises(DataError, match="only the numbers for train"):
        prepared(folder)
    (folder / "bibtex_trSplit.txt").unlink()
    assert find_repetition(folder, None, "utf-8", None) is None
    with pytest.raises(DataError, match="no numbers of documents by repetition"):
        prepared(folder, 1)
