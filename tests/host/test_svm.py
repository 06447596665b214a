from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from libmultilabel.common_utils import AttributeDict
from libmultilabel.linear import load_dataset

from plant_plugin.errors import DataError
from plant_plugin.host.svm import check_svm, with_svm_files


def files(**paths: Any) -> Any:
    return {"training_file": None, "val_file": None, "test_file": None, **paths}


def test_what_libmultilabel_reads_passes(data: Path, tmp_path: Path) -> None:
    odd = tmp_path / "odd.svm"
    odd.write_text("1,2 1:0.5 3:1e-3\n 2:1\n4:1 5:1\n7\n-1,+2 4:-1\n")
    check_svm(files(training_file=str(data / "train.svm"), test_file=str(odd)))
    read = load_dataset("svm", str(odd), None)["train"]
    assert read["y"] == [[1, 2], [], [], [7], [-1, 2]]
    assert read["x"].shape == (5, 5)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("3 100 20\n0 1:1\n", "line 1: a header"),
        ("1 1:1\n2 0:1 1:2\n", "line 2: feature 0"),
        ("1 1:1\n2 heart 1:2\n", "line 2: not of the form"),
        ("1 1:1\n\n2 1:1\n", "line 2: not of the form"),
        ("", "empty"),
        (b"\xff\xfe", "UTF-8"),
    ],
)
def test_what_it_cannot_read_is_named(text: str | bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "train.svm"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(DataError, match=message) as caught:
        check_svm(files(training_file=str(path)))
    assert "heart" not in str(caught.value)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="No such file"):
        check_svm(files(test_file=str(tmp_path / "none.svm")))


def test_xmc_becomes_svm(tmp_path: Path) -> None:
    path = tmp_path / "train.txt"
    path.write_text("3 6 3\n0,2 0:0.5 5:1\n 3:1e-3\n1\n")
    settings = AttributeDict(files(training_file=str(path)), data_format="xmc", cache_dir=str(tmp_path / "cache"))
    changed = with_svm_files(settings)
    assert (changed.data_format, settings.data_format, settings.training_file) == ("svm", "xmc", str(path))
    assert Path(changed.training_file).read_text() == "0,2 1:0.5 6:1.0\n 4:0.001\n1 \n"
    check_svm(changed)
    read = load_dataset("svm", changed.training_file, None)["train"]
    assert read["y"] == [[0, 2], [], [1]]
    assert read["x"].toarray().tolist() == [[0.5, 0, 0, 0, 0, 1], [0, 0, 0, 0.001, 0, 0], [0] * 6]
    stamp = Path(changed.training_file).stat().st_mtime_ns
    assert Path(with_svm_files(settings).training_file).stat().st_mtime_ns == stamp


def test_xmc_files_of_two_data_sets(tmp_path: Path) -> None:
    for name, features in (("train", 6), ("test", 7)):
        (tmp_path / f"{name}.txt").write_text(f"1 {features} 3\n0 1:1\n")
    given = files(training_file=str(tmp_path / "train.txt"), test_file=str(tmp_path / "test.txt"))
    with pytest.raises(DataError, match="different numbers of features"):
        with_svm_files(AttributeDict(given, data_format="xmc", cache_dir=str(tmp_path)))
