from __future__ import annotations

from pathlib import Path

from plant_plugin.config import Config, load_config
from plant_plugin.data.documents import read_as_text
from plant_plugin.data.label_column import Trained
from plant_plugin.training.further_files import how_read, new_documents, plain, write_test_file


def configuration(tmp_path: Path, **keys: object) -> Config:
    (tmp_path / "train.txt").write_text("I10\ta\n")
    return load_config(None, {"linear": True, "training_file": str(tmp_path / "train.txt"), **keys})


def test_flags_say_how_new_files_are_read(tmp_path: Path) -> None:
    (tmp_path / "new.csv").write_text("note,codes\nback ache,old age\nno code,\n")
    before = configuration(tmp_path)
    reading = how_read(before, {"text_column": "note", "labels_column": "codes", "seed": 3})
    assert reading.seed == before.seed
    read = new_documents(tmp_path / "new.csv", reading, Trained(labels=frozenset({"old_age"})))
    assert (read.texts, read.labels) == (["back ache"], [["old_age"]])


def test_a_test_file_is_written_as_text_where_it_would_be_read_otherwise(tmp_path: Path) -> None:
    (tmp_path / "test.csv").write_text("text,labels\nback  ache,old age|R05\n")
    test, before = str(tmp_path / "test.csv"), configuration(tmp_path)
    assert read_as_text(test, before)
    assert write_test_file(test, before, before, tmp_path, Trained()) is None
    before = configuration(tmp_path, label_separator="|")
    written = write_test_file(test, before, before, tmp_path, Trained())
    assert Path(str(written)).read_text() == "old_age R05\tback ache\n"


def test_plain_texts_have_one_line() -> None:
    assert plain("a\n b\tc") == "a b c"
