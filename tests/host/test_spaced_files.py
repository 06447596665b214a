from __future__ import annotations

from pathlib import Path

import pytest

from plant_plugin.config import load_config
from plant_plugin.host.spaced_files import files_with_words

TEXTS = ["三尖瓣反流，CT显示肺炎。", "患者有高血压病史多年"]


def read(folder: Path, **keys: object) -> dict[str, str]:
    (folder / "train.txt").write_text("".join(f"{number}\tI36 J18\t{text}\n" for number, text in enumerate(TEXTS)))
    (folder / "test.txt").write_text("J18\tfever 肺炎\n")
    named = {"training_file": str(folder / "train.txt"), "test_file": str(folder / "test.txt")}
    written = files_with_words(
        load_config(None, {**named, **keys, "cache_dir": str(folder / "cache")}), pairs="linear" in keys
    )
    return {key: Path(str(written[key])).read_text() for key in named}


def test_networks_read_characters(tmp_path: Path) -> None:
    files = read(tmp_path, model_name="KimCNN", network_config={"filter_sizes": [2]})
    assert files["training_file"].splitlines()[0] == "0\tI36 J18\t三 尖 瓣 反 流 CT 显 示 肺 炎"
    assert files["test_file"] == "J18\tfever 肺 炎\n"


def test_linear_models_read_pairs_because_they_leave_single_letters_out(tmp_path: Path) -> None:
    files = read(tmp_path, linear=True)
    assert files["training_file"].splitlines()[0] == "0\tI36 J18\tCT 三尖 尖瓣 瓣反 反流 显示 示肺 肺炎"
    assert files["test_file"] == "J18\tfever 肺炎\n"


@pytest.mark.parametrize("texts", [["fever and cough"], ["肺炎 伴 咳嗽"]])
def test_texts_with_spaces_are_left_as_they_are(tmp_path: Path, texts: list[str]) -> None:
    (tmp_path / "train.txt").write_text("".join(f"J18\t{text}\n" for text in texts))
    keys = {"linear": True, "training_file": str(tmp_path / "train.txt"), "cache_dir": str(tmp_path / "cache")}
    assert files_with_words(load_config(None, keys), pairs=True) == {"training_file": str(tmp_path / "train.txt")}


def test_language_models_and_sparse_files_are_left_as_they_are(tmp_path: Path) -> None:
    files = read(tmp_path, model_name="BERT", network_config={"lm_weight": "bert-base-chinese"})
    assert TEXTS[0] in files["training_file"]
    (tmp_path / "train.svm").write_text("0 1:1\n")
    keys = {"linear": True, "training_file": str(tmp_path / "train.svm"), "data_format": "svm"}
    assert files_with_words(load_config(None, keys), pairs=True) == {"training_file": str(tmp_path / "train.svm")}
