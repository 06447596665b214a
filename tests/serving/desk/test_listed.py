"""The codes that a desk knows, by a part of their number or name."""

from __future__ import annotations

from pathlib import Path

import pytest

from plant_plugin.data.label_names import label_names
from plant_plugin.errors import DataError
from plant_plugin.serving.desk.listed import MOST, Codes, check_labels, unchecked


def test_numbers_come_first_and_neither_dots_nor_accents_count() -> None:
    names = {"E11.9": "Diabetes", "E11.65": "Diabetes con hiperglucemia", "R73.9": "Hiperglucemía, e119"}
    codes = Codes([*names], names.get)
    assert codes.search("e119") == ["E11.9", "R73.9"]
    assert codes.search("HIPERGLUCEMIA diabetes") == ["E11.65"]
    assert codes.search(" ") == codes.search("nothing") == []


def test_a_search_shows_so_many_at_most() -> None:
    assert len(Codes([f"A{number}" for number in range(MOST + 5)], {}.get).search("a")) == MOST


def table(tmp_path: Path, *rows: str) -> list[str]:
    path = tmp_path / "names.tsv"
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return [str(path)]


def test_all_codes_that_names_list_are_known_and_found_by_each_of_their_names(tmp_path: Path) -> None:
    rows = ["E11.9\tDiabetes", "E11.9\tSugar sickness", "E11.65\tDiabetes with hyperglycemia", "R05\tCough"]
    codes = Codes(["R05", "X1"], label_names(table(tmp_path, *rows)))
    assert [codes.knows(label) for label in ("R05", "X1", "E11.65", "E1165", "e11.9", "Z99")] == [
        True, True, True, False, False, False,
    ]  # fmt: skip
    assert codes.search("sugar") == ["E11.9"]
    assert codes.search("e11") == ["E11.9", "E11.65"]
    assert (codes.name("E11.9"), codes.name("X1"), codes.name("Z99")) == ("Diabetes", None, None)


@pytest.mark.parametrize(
    ("labels", "written"),
    [(["r05", "j18.9"], "e11.9"), (["R05", "J189"], "E119"), (["r05", "j189"], "e119"), (["R05", "J18.9"], "E11.9")],
)
def test_codes_are_written_as_the_models_labels_are(tmp_path: Path, labels: list[str], written: str) -> None:
    codes = Codes(labels, label_names(table(tmp_path, "R05\tCough", "J18.9\tPneumonia", "E11.9\tDiabetes")))
    assert codes.search("diabetes") == [written]
    assert codes.search("pneumonia") == [labels[1]]  # once
    assert codes.name(labels[1]) == "Pneumonia"


def test_the_code_that_is_asked_for_comes_first() -> None:
    labels = [f"A{number}" for number in range(100)]
    assert Codes(labels, {}.get).search("a9") == ["A9", *(f"A9{number}" for number in range(10))]


def test_what_has_no_name_is_refused_or_told(tmp_path: Path) -> None:
    names = label_names(table(tmp_path, "R05\tCough", "J18.9\tPneumonia"))
    assert not check_labels(names, take=False)({"R05", "J18.9"})
    with pytest.raises(DataError, match=r"2 of 3 codes have no name \('X1', 'X2'\)") as error:
        check_labels(names, take=False)(["X2", "R05", "X1"])
    assert "--take-unknown" in str(error.value)
    assert list(check_labels(names, take=True)(["X2", "R05", "X1"])) == ["X1", "X2"]
    assert not unchecked(["X1"])
