from __future__ import annotations

from pathlib import Path

from plant_plugin.config import load_config
from plant_plugin.host.text_files import files_as_text


def test_what_libmultilabel_reads_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("I10 R05\tcough\nI10\tpressure\n")
    keys = {"linear": True, "training_file": str(tmp_path / "train.txt"), "cache_dir": str(tmp_path / "cache")}
    assert files_as_text(load_config(None, keys)) == {"training_file": str(tmp_path / "train.txt")}


def test_one_file_that_it_cannot_read_has_all_written_as_text(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("old_age R05\tcough\nI10\tpressure\n")
    (tmp_path / "test.csv").write_text("text,labels\ncough,old age\n")
    keys = {"linear": True, "training_file": str(tmp_path / "train.txt"), "test_file": str(tmp_path / "test.csv"),
            "cache_dir": str(tmp_path / "cache")}  # fmt: skip
    written = files_as_text(load_config(None, keys))
    assert (written["data_format"], written["label_separator"]) == ("txt", None)
    assert Path(str(written["test_file"])).read_text() == "old_age\tcough\n"


def test_files_in_a_stated_encoding_are_written_as_utf_8(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("I10\thipertensión\n", encoding="latin-1")
    keys = {"linear": True, "training_file": str(tmp_path / "train.txt"), "cache_dir": str(tmp_path / "cache"),
            "encoding": "latin-1"}  # fmt: skip
    written = files_as_text(load_config(None, keys))
    assert written["encoding"] is None
    assert Path(str(written["training_file"])).read_text(encoding="utf-8") == "I10\thipertensión\n"
