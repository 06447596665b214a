from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from plant_plugin.errors import DataError
from plant_plugin.prepare.xmc.shapes import LABEL_NAMES, find_shape, names_of, one_line


def test_a_text_stays_in_its_line_and_column() -> None:
    assert one_line("a\tb\rc\n") == "a b c"


def test_labels_are_written_once_and_in_order() -> None:
    assert names_of([10, 2, 10]) == ["2", "10"]


def test_labels_by_name_beside_texts(tmp_path: Path) -> None:
    for split, labels in {"train": "b a b\n\n", "test": "a\n"}.items():
        (tmp_path / f"{split}_labels.txt").write_text(labels)
        (tmp_path / f"{split}_texts.txt").write_text("".join(f"text {line}\n" for line in range(labels.count("\n"))))
    shape = find_shape(tmp_path, None, "utf-8")
    assert (shape.name, shape.labels) == ("attention_xml", None)
    assert list(shape.read("train")) == [(["a", "b"], "text 0"), ([], "text 1")]
    (tmp_path / "test_texts.txt").write_text("one\ntwo\n")
    with pytest.raises(DataError, match="texts: 2, lists of labels: 1"):
        list(shape.read("test"))


def test_no_shape(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="none of the shapes"):
        find_shape(tmp_path, None, "utf-8")


@pytest.mark.parametrize("names", LABEL_NAMES)
@pytest.mark.parametrize("ending", [".json.gz", ".json", ".raw.json.gz", ".raw.json"])
def test_json_under_each_name_with_names_a_line(names: str, ending: str, tmp_path: Path) -> None:
    for split in ("trn", "tst"):
        content = f'{{"uid": "a", "title": "{split}", "content": "red", "target_ind": [1]}}\n'.encode()
        path = tmp_path / f"{split}{ending}"
        path.write_bytes(gzip.compress(content) if ending.endswith(".gz") else content)
    (tmp_path / names).write_text("first\nsecond label\n")
    shape = find_shape(tmp_path, None, "utf-8")
    assert (shape.name, shape.labels) == ("json", ["first", "second label"])
    assert list(shape.read("test")) == [(["1"], "tst red")]
    (tmp_path / names).unlink()
    with pytest.raises(DataError, match=r"lbl.json.gz is missing[\s\S]*Yf.txt"):
        find_shape(tmp_path, None, "utf-8")
