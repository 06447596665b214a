from __future__ import annotations

from plant_plugin.relevance.names.index import stems_of
from plant_plugin.relevance.names.short_texts import stems_in, words_in
from plant_plugin.relevance.phrases import words_of


def test_they_are_those_of_any_text_and_cut_once() -> None:
    name = "Fractura de fémur 12345678"
    assert words_in(name) == words_of(name)[0]
    assert stems_in(name) == stems_of(name) == ["fractu", "de", "femur", "12345678"]
    assert words_in(name) is words_in(name)
