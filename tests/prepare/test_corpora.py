"""fastText's lines, and the splits of a corpus by the names of its files."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from click.testing import CliRunner

from plant_plugin.cli import plant
from plant_plugin.errors import DataError
from plant_plugin.prepare.corpora import Corpus, content_lines, labelled, prepare_fasttext, splits_of

COOKING = (
    "__label__sauce __label__food-safety How  much\tpot?\n\n__label__dough bread __label__yeast rises\nno label here\n"
)


def test_labels_stand_anywhere_in_a_line(tmp_path: Path) -> None:
    (tmp_path / "cooking.txt").write_text(COOKING)
    report = prepare_fasttext(tmp_path / "cooking.txt", tmp_path / "out")
    lines = (tmp_path / "out" / "train.txt").read_text()
    assert lines == "sauce food-safety\tHow much pot?\ndough yeast\tbread rises\n"
    assert report["sets"][""]["documents_without_label_left_out"] == 1


def test_splits_by_name_and_the_command(tmp_path: Path) -> None:
    (tmp_path / "raw").mkdir()
    for split in ("train", "valid", "test"):
        with gzip.open(tmp_path / "raw" / f"cooking.{split}.gz", "wt") as stream:
            stream.write(f"#a {split}\n")
    call = ["prepare", "fasttext", str(tmp_path / "raw"), str(tmp_path / "out"), "--prefix", "#"]
    dry = CliRunner().invoke(plant, [*call, "--dry-run"])
    assert (dry.exit_code, (tmp_path / "out").exists()) == (0, False)
    done = CliRunner().invoke(plant, call)
    assert done.exit_code == 0, done.output
    assert [(tmp_path / "out" / f"{split}.txt").read_text() for split in ("train", "valid", "test")] == [
        "a\ttrain\n", "a\tvalid\n", "a\ttest\n"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("secret\n", "no word begins with '__label__'"),
        ("__label__a secret\n__label__ secret\n", "line 2: a label without a name"),
        ("__label__a,__label__b secret\n", "line 1: two labels without a space"),
        ('"__label__a secret"\n', "line 1: the line is quoted as in CSV"),
        ("__label__a sec\0ret\n", "line 1: a NUL byte"),
    ],
)
def test_lines_that_are_none_of_fasttext(content: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "raw.txt").write_text(content)
    with pytest.raises(DataError, match=message) as caught:
        prepare_fasttext(tmp_path / "raw.txt", tmp_path / "out")
    assert "secret" not in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_what_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        prepare_fasttext(tmp_path / "none", tmp_path / "out")
    with pytest.raises(DataError, match="no prefix"):
        prepare_fasttext(tmp_path, tmp_path / "out", prefix=" ")
    with pytest.raises(DataError, match="no document for training has a label"):
        Corpus({"train": [labelled("text", [], "x")]}).write(tmp_path, tmp_path / "out", "prepare annif", {}, False)


def test_splits_of_names(tmp_path: Path) -> None:
    def names(*paths: str) -> dict[str, str]:
        return {split: path.name for split, path in splits_of(tmp_path, [tmp_path / path for path in paths]).items()}

    assert names("yso-train.tsv.gz", "yso_validate.tsv", "test") == {
        "test": "test", "train": "yso-train.tsv.gz", "valid": "yso_validate.tsv"
    }  # fmt: skip
    assert names("cooking.txt") == {"train": "cooking.txt"}
    for paths, message in {
        ("a.txt", "b.txt"): "files: 2, none of them called train",
        ("a.test",): "files: 1, none of them called train",
        (): "files: 0",
        ("a.train", "b.train"): "a.train and b.train are both for train",
        ("a.train", "b.txt"): "b.txt is of no split, or of several",
        ("a.train", "train-test.txt"): "train-test.txt is of no split, or of several",
    }.items():
        with pytest.raises(DataError, match=message):
            names(*paths)


def test_lines_with_content(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("\nx\n")
    assert list(content_lines(tmp_path / "a")) == [(f"{tmp_path / 'a'}, line 2", "x")]
