"""Features without words, as of Mediamill, are divided and keep their values, which linear methods read."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from made_up_xmc import text_lines

from plant_plugin.cli import plant
from plant_plugin.data.xmc_sparse import read_xmc
from plant_plugin.prepare.xmc.xmc import prepare_xmc

ROWS = ["4 3 3", "0,1 0:0.25 2:-1e-7", "2 1:1", " 1:0.1", "1,0 0:3"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    source = tmp_path / "Mediamill"
    files = {"Mediamill_data.txt": ROWS, "mediamill_trSplit.txt": ["1 2", "4 3"], "mediamill_tstSplit.txt": ["3 4"]}
    for name, lines in files.items():
        text_lines(source / name, lines)
    text_lines(tmp_path / "words.txt", ["a", "b", "c"])
    return source


def test_values_are_what_they_were(folder: Path) -> None:
    out = folder.parent / "out"
    done = CliRunner().invoke(plant, ["prepare", "xmc", str(folder), str(out)])
    assert done.exit_code == 0, done.output
    assert "3 features have no words: written with their values, for --linear --data_format xmc" in done.stderr
    assert (out / "train_features.txt").read_text() == "2 3 3\n0,1 0:0.25 2:-1e-07\n0,1 0:3\n"
    assert (out / "test_features.txt").read_text() == "1 3 3\n 1:0.1\n"
    assert [row.values for row in read_xmc(out / "train_features.txt")] == [[0.25, -1e-7], [3.0]]
    assert not (out / "train.txt").exists()  # which would be read as texts


def test_the_other_repetition_without_writing(folder: Path) -> None:
    made = prepare_xmc(folder, folder.parent / "out", repetition=2, dry_run=True)
    assert (made["counts"]["shape"], made["counts"]["train"], made["counts"]["documents_in_neither"]) == (
        "features", 2, 1,
    )  # fmt: skip


def test_words_say_no_values_and_that_is_counted(folder: Path) -> None:
    made = prepare_xmc(folder, folder.parent / "out", vocabulary=folder.parent / "words.txt")
    assert made["counts"]["documents_whose_weights_are_left_out"] == 1
    assert (folder.parent / "out" / "train.txt").read_text() == "0 1\ta c\n0 1\ta a a\n"
