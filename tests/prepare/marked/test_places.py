from __future__ import annotations

import pytest

from plant_plugin.data.text import Spans
from plant_plugin.prepare.marked.places import Places

WORDS = "cough"


@pytest.mark.parametrize(
    ("text", "before"),
    [
        ("😀😀 fever cough", ".... fever "),
        ("a\r\nb\r\ncough", "a\nb\n"),
        ("😀😀\r\ncough", "....\n"),
        ("\ufeffa cough", "a "),
        ("a\nb\ncough", "a\r\nb\r\n"),
        ("é ü cough", ".. .. "),
        ("<p>a &amp; b</p> <b>cough</b>", "a & b "),
    ],
)
def test_words_are_where_another_way_of_counting_says(text: str, before: str) -> None:
    """``before``: as many characters as the other way counts before the words."""
    start, places = len(before), Places(text)
    assert not places.hold([(start, start + 5)], WORDS)
    there = places.counted_otherwise([(start, start + 5)], WORDS)
    assert there is not None
    assert [text[first:last] for first, last in there] == [WORDS]
    assert places.counted_otherwise([(start, start + 5)], "other") is None
    assert places.counted_otherwise([(900, 905)], WORDS) is None


@pytest.mark.parametrize(
    ("text", "marks", "meant", "doubtful"),
    [
        ("fever, cough", [[(0, 5)], [(1, 4)]], ["fever", "eve"], False),  # nothing to count in two ways
        ("😀 fever cough", [[(3, 8)], [(9, 14)]], ["fever", "cough"], False),
        ("😀 fever cough", [[(2, 7)]], ["fever"], False),
        ("fever 😀", [[(0, 5)], [(1, 4)]], ["fever", "eve"], False),
        ("a\r\nb\r\nfever", [[(4, 9)]], ["fever"], False),
        ("a\nb\nfever", [[(6, 11)]], ["fever"], False),
        ("é ü fever cough", [[(6, 11)], [(12, 17)]], ["fever", "cough"], False),
        ("é ü fever cough", [[(6, 9)]], ["ver"], False),
        ("😀 fever cough", [[(2, 7)], [(8, 13)], [(9, 12)]], ["fever", "cough", "oug"], False),  # most are right so
        ("😀 fever cough", [[(4, 6)]], ["ve"], True),
        ("😀 发烧咳嗽", [[(2, 4)]], ["发烧"], False),
    ],
)
def test_marks_without_words_hold_whole_ones(text: str, marks: list[Spans], meant: list[str], doubtful: bool) -> None:
    moved, doubt = Places(text).counted_by_word_ends(marks)
    assert [text[start:end] for [(start, end)] in moved] == meant
    assert doubt == doubtful


def test_whole_words() -> None:
    places = Places("one two, 咳嗽 e\u0301t")
    assert places.whole_words([(0, 3), (4, 8), (9, 10)])
    for span in ((1, 3), (0, 4), (0, 5), (3, 7), (0, 99), (0, 0), (12, 13)):
        assert not places.whole_words([span])


@pytest.mark.parametrize(
    ("spans", "words", "meant"),
    [
        ([(3, 9)], "asthma", ["asthma"]),
        ([(12, 14)], "asthma", ["asthma"]),
        ([(0, 13)], "Pain  of", ["Pain\nof"]),
        ([(10, 17), (29, 33)], "Pain of knee", ["Pain\nof", "knee"]),
        ([(2, 20), (29, 33)], "Pain of knee", None),  # which word is of which part
        ([(3, 9)], "fracture", None),
        ([(0, 1)], "", None),
        ([(33, 37)], "no", ["no"]),  # not of "know"
    ],
)
def test_words_are_found_again_nearby(spans: Spans, words: str, meant: list[str] | None) -> None:
    text = "Known asthma.\nPain\nof the left knee, no fever."
    there = Places(text).nearby(spans, words)
    assert (there and [text[start:end] for start, end in there]) == meant


def test_words_that_are_twice_equally_near_or_far_away_are_not_found() -> None:
    assert Places("no fever  no").nearby([(5, 7)], "no") is None
    assert Places("no fever  no").nearby([(6, 8)], "no") == [(10, 12)]
    assert Places("x" + " " * 400 + "fever").nearby([(0, 5)], "fever") is None
