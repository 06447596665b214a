from __future__ import annotations

from pathlib import Path

import pytest

from plant_plugin.errors import DataError
from plant_plugin.prepare.marked.marked import covers, flattened, found_splits


def test_a_text_on_one_line_and_where_its_characters_went() -> None:
    text, places = flattened(" two\n\twords ")
    assert text == "two words"
    assert [text[places[place]] for place, character in enumerate(" two\n\twords ") if not character.isspace()] == list(
        "twowords"
    )


def test_byte_order_marks_are_no_part_of_a_text() -> None:
    for written in ("\ufefftwo words", "\ufeff two\ufeff  words", "two words\ufeff"):
        text, places = flattened(written)
        assert text == "two words"
        assert [text[places[place]] for place, letter in enumerate(written) if letter.isalpha()] == list("twowords")


def test_white_space_and_punctuation_do_not_count_in_covered_words() -> None:
    assert covers("acute fever.", [(0, 12)], "acute  fever")
    assert not covers("acute fever.", [(0, 5)], "acute fever")
    assert covers("±", [(0, 1)], " ±")


def test_splits_by_name(tmp_path: Path) -> None:
    (tmp_path / "only.json").touch()
    assert found_splits(tmp_path, ".json") == {"train": tmp_path / "only.json"}
    for name in ("train", "dev"):
        (tmp_path / f"{name}.json").touch()
    assert {split: path.stem for split, path in found_splits(tmp_path, ".json").items()} == {
        "train": "train", "valid": "dev",
    }  # fmt: skip
    (tmp_path / "valid.json").touch()
    with pytest.raises(DataError, match="are both for valid"):
        found_splits(tmp_path, ".json")
    with pytest.raises(DataError, match="no such file or folder"):
        found_splits(tmp_path / "none", ".json")
