from __future__ import annotations

import lzma
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from plant_plugin.cli import plant
from plant_plugin.errors import DataError, MissingExtraError
from plant_plugin.prepare.stats import draw_histogram, frequency_bins, read_stats, spread, summary


def write(folder: Path, name: str, *lines: str) -> str:
    path = folder / name
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return str(path)


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    train = ["a b\tone two three", "a\tone two three", "a a c\tfour", "\tfive six"]
    test = ["a new\tone two three", "new\tseven", "b\tseven"]
    return write(tmp_path, "train.txt", *train), write(tmp_path, "test.txt", "", *test)


def test_numbers_by_hand(files: tuple[str, str]) -> None:
    train, test = summary([read_stats(name) for name in files])
    assert train == {
        "file": files[0],
        "documents": 4,
        "documents without labels": 1,
        "documents with a text that came before": 1,
        "labels": 3,
        "labels a document": "1.5 (0.75 to 2)",
        "words": 9,
        "words a document": "2.5 (1.75 to 3)",
    }
    assert test["labels unseen in training"] == 1
    assert test["their share of all labels given"] == "50.00 %"
    assert test[f"documents whose text is in {files[0]}"] == 1
    assert test["documents with a text that came before"] == 1


def test_bins_by_hand(files: tuple[str, str]) -> None:
    bins = {name: rest for name, *rest in frequency_bins([read_stats(name) for name in files])}
    assert bins["0"] == [1, ["0.00 %", "50.00 %"]]
    assert bins["1-5"] == [3, ["100.00 %", "50.00 %"]]
    assert bins["6-10"] == [0, ["0.00 %", "0.00 %"]]


def test_ids_do_not_count_and_line_ends_do_not_matter(tmp_path: Path) -> None:
    path = tmp_path / "three.txt"
    path.write_bytes(b"7\ta b\tone two\r\n8\tc\tone two\r\n")
    (row,) = summary([read_stats(str(path))])
    assert (row["labels"], row["words"], row["documents with a text that came before"]) == (3, 4, 1)


@pytest.mark.parametrize("ending", ["", ".xz"])
def test_evidence_by_hand(ending: str, files: tuple[str, str], tmp_path: Path) -> None:
    # Of "one two three": a has "one two" and, overlapping, "two"; b "three" and c of the third document its only word.
    content = "0\ta\t0-7;4-7\n0\tb\t8-13\n2\tc\t0-4\n"
    opener = lzma.open if ending else open
    with opener(tmp_path / f"train_evidence.tsv{ending}", "wt") as stream:
        stream.write(content)
    train, test = summary([read_stats(name) for name in files])
    told = {
        "labels given with evidence": 3,
        "their share of the labels given": "60.00 %",
        "spans of evidence": 4,
        "marks in several parts": 0,
        "words a span, mean": "1.25",
        "share of the text that is evidence": "42.11 %",  # 12 and 4 of 13 + 13 + 4 + 8 characters
    }
    assert told.items() <= train.items()
    assert not told.keys() & test.keys()


def test_a_mark_in_parts_is_counted_by_its_parts(files: tuple[str, str], tmp_path: Path) -> None:
    write(tmp_path, "train_evidence.tsv", "0\ta\t0-3+8-13;4-7")
    (row,) = summary([read_stats(files[0])])
    told = {"spans of evidence": 3, "marks in several parts": 1, "share of the text that is evidence": "28.95 %"}
    assert told.items() <= row.items()  # 11 of 38 characters


def test_evidence_of_another_file(files: tuple[str, str], tmp_path: Path) -> None:
    write(tmp_path, "train_evidence.tsv", "0\ta\t0-3", "1\tb\t0-3")
    done = CliRunner().invoke(plant, ["stats", *files])
    assert (done.exit_code, "train_evidence.tsv, line 2" in done.output) == (2, True)


def test_spread_of_one_document() -> None:
    assert spread([7]) == "7 (7 to 7)"


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["a\tx", "secret"], "line 2: columns: 1"),
        (["a\tb\tc\td"], "line 1: .*found 4"),
        ([], "holds no document"),
        (["a secret of many more words\tI10", "one secret that is somebody else's\tI63"], "texts, and the texts codes"),
    ],
)
def test_bad_files(lines: list[str], message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=message) as caught:
        read_stats(write(tmp_path, "x.txt", *lines))
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("lines", [["\t"], ["\t", " \t "], ["\t\t", "\t\t "]])
def test_lines_that_hold_nothing_are_the_error_of_training(lines: list[str], tmp_path: Path) -> None:
    path = write(tmp_path, "x.txt", *lines)
    with pytest.raises(DataError, match="no training document has a label"):
        read_stats(path)
    trained = CliRunner().invoke(plant, ["train", path, "--val_size", "0", "--result_dir", str(tmp_path / "runs")])
    assert "no training document has a label" in trained.output


def test_the_command_and_its_picture(files: tuple[str, str], tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    pictures = [tmp_path / "one.png", tmp_path / "two.png"]
    for picture in pictures:
        done = CliRunner().invoke(plant, ["stats", *files, "--png", str(picture)])
        assert done.exit_code == 0, done.output
    assert pictures[0].read_bytes().startswith(b"\x89PNG")
    assert pictures[0].read_bytes() == pictures[1].read_bytes()
    assert "labels unseen in training" in done.output
    assert "seven" not in done.output


def test_picture_without_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match=r"plant-plugin\[prepare\]"):
        draw_histogram([1, 2], tmp_path / "x.png")


def test_picture_of_labels_that_all_occur_once(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    draw_histogram([1, 1], tmp_path / "x.png")
    assert (tmp_path / "x.png").is_file()
