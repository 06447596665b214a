"""Labels by a part of their number or name."""

from __future__ import annotations

from plant_plugin.serving.desk.codes import MOST, Codes


def test_numbers_come_first_and_neither_dots_nor_accents_count() -> None:
    names = {"E11.9": "Diabetes", "E11.65": "Diabetes con hiperglucemia", "R73.9": "Hiperglucemía, e119"}
    codes = Codes([*names], names.get)
    assert codes.search("e119") == ["E11.9", "R73.9"]
    assert codes.search("HIPERGLUCEMIA diabetes") == ["E11.65"]
    assert codes.search(" ") == codes.search("nothing") == []


def test_a_search_shows_so_many_at_most() -> None:
    assert len(Codes([f"A{number}" for number in range(MOST + 5)], {}.get).search("a")) == MOST
