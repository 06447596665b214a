from __future__ import annotations

import pytest

from plant_plugin.data.header_names import header_words, is_header_name


@pytest.mark.parametrize(
    "name",
    [
        "text",
        "note_text",
        "ICD10 codes",
        "Código",
        "noteText",
        "hadm_id",
        "文本",
        "ラベル",
        "텍스트",
        " Diagnóstico ",
        "ICD-10 codes",
        "etykiety",
        "κείμενο",
        "Discharge summary",
    ],
)
def test_names_of_columns(name: str) -> None:
    assert is_header_name(name)


@pytest.mark.parametrize(
    "name", ["I10", "no fever", "", "text of a note", "E11.9 I10", "__label__x", "label1", "text2", "10"]
)
def test_what_is_none(name: str) -> None:
    assert not is_header_name(name)


def test_parts_of_other_names() -> None:
    assert header_words("long_title") == {"title"}
