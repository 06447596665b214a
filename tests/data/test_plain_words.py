from __future__ import annotations

from plant_plugin.data.plain_words import plain_words


def test_marks_that_are_no_accents_stay() -> None:
    assert plain_words("ガン")[0] != plain_words("カン")[0]
    assert plain_words("Ödème")[0] == ["odeme"]


def test_words_are_cut_and_numbers_are_not() -> None:
    text = "Fractura de fémur 1234567, ガン"
    words, places = plain_words(text, 4)
    assert words == ["frac", "de", "femu", "1234567", "ガ", "ン"]  # a letter without spaces is a word
    assert plain_words(text)[0] == ["fractura", "de", "femur", "1234567", "ガ", "ン"]
    assert [text[start:end] for start, end in places] == ["Fractura", "de", "fémur", "1234567", "ガ", "ン"]


def test_who_changes_words_changes_only_those_returned() -> None:
    words, places = plain_words("una fiebre")
    words.clear()
    places.clear()
    assert plain_words("una fiebre") == (["una", "fiebre"], [(0, 3), (4, 10)])
