from __future__ import annotations

import pytest

from plant_plugin.relevance.names.marked_words import said_stems, stems_in, words_in
from plant_plugin.relevance.names.name_index import NameIndex, stems_of
from plant_plugin.relevance.phrases import words_of


def test_they_are_those_of_any_text_and_cut_once() -> None:
    name = "Fractura de fémur 12345678"
    assert words_in(name) == words_of(name)[0]
    assert stems_in(name) == stems_of(name) == ["fractu", "de", "femur", "12345678"]
    assert words_in(name) is words_in(name)


def test_stems_of_names_that_marked_words_leave_out_count_less() -> None:
    rows = [(f"K{number}", f"finding{number} of organ, unspecified") for number in range(9)]
    spans = [(f"finding{number} of organ", name, label) for number, (label, name) in enumerate(rows)] * 5
    said = said_stems(NameIndex.of(rows), {}, spans)
    assert said["unspec"] < 0.3
    assert "organ" not in said


def test_the_lexicon_says_them_too_and_nothing_marked_says_nothing() -> None:
    rows = [("K", "fracture tibia")]
    marked = [("fractura de tibia", "fracture tibia", "K")] * 20
    plain, translated = (said_stems(NameIndex.of(rows), each, marked) for each in ({}, {"fractu": [("fractu", 1.0)]}))
    assert plain == translated == {}
    assert said_stems(NameIndex.of(rows), {}, []) == {}
    assert said_stems(NameIndex.of([("K", "rotura tibia")]), {}, [("x tibia", "rotura tibia", "K")] * 20)[
        "rotura"
    ] == pytest.approx(0.2, abs=0.05)
