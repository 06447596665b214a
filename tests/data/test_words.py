from __future__ import annotations

import re
import unicodedata
from importlib.metadata import EntryPoint
from itertools import pairwise
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plant_plugin.data import words
from plant_plugin.data.plain_words import plain_words
from plant_plugin.data.unicode_forms import composed
from plant_plugin.data.word_tokens import WordTokens
from plant_plugin.data.words import (
    CHARACTERS,
    LETTER,
    lengths_of,
    said_of,
    splitter_of,
    without_spaces,
    words_by,
    words_of,
)
from plant_plugin.errors import ConfigError
from plant_plugin.prepare.stats import counted_words
from plant_plugin.relevance.terms import Terms

# A sentence of each script that puts no spaces between words, with Latin letters, a number and its signs.
SCRIPTS = {
    "Chinese": "患者有三尖瓣反流，CT显示肺炎20天。",
    "Chinese, beyond 16 bits": "𠮷野先生有高血压病史三十年余",
    "Japanese": "患者は糖尿病とガンの疑いで、2日前から入院した。人々",
    "Japanese, decomposed": unicodedata.normalize("NFD", "がんの疑いがある患者が入院した"),
    "Thai": "ผู้ป่วยมีอาการไข้และไอ2วันกำลังรักษา",
    "Lao": "ຄົນເຈັບມີໄຂ້ແລະໄອຫຼາຍມື້",
    "Khmer": "អ្នកជំងឺមានគ្រុនក្តៅនិងក្អក",
    "Burmese": "လူနာတွင်ဖျားနာပြီးချောင်းဆိုးသည်",
    "Javanese": "ꦥꦱꦶꦪꦺꦤ꧀ꦭꦫꦥꦤꦱ꧀ꦭꦤ꧀ꦮꦠꦸꦏ꧀",
    "Tai Lue": "ᦎᦱᧂᦵᦏᦲᧁᦈᧅᦎᦱᧂᦵᦏᦲᧁᦈᧅ",
}


@pytest.mark.parametrize("text", SCRIPTS.values(), ids=SCRIPTS)
def test_each_character_with_its_marks_is_a_word_at_its_place(text: str) -> None:
    assert splitter_of([text]) == CHARACTERS
    cut = words_by(CHARACTERS)
    places = cut.places(text)
    assert [text[start:end] for start, end in places] == cut.findall(text)
    covered = {place for start, end in places for place in range(start, end)}
    assert {place for place, character in enumerate(text) if unicodedata.category(character)[0] in "LMN"} <= covered
    assert places == sorted(places)
    assert all(start < end for start, end in places)
    assert all(before[1] <= after[0] for before, after in pairwise(places))
    for start, end in places:
        if LETTER.match(text, start):
            assert not unicodedata.category(text[start])[0] == "M"
            assert all(unicodedata.category(mark)[0] == "M" for mark in text[start + 1 : end])
    assert cut.shown(text, signs=False).tolist() == [list(place) for place in places]
    signs = [match.span() for match in re.finditer(r"[、，。]", text)]
    assert cut.shown(text, signs=True).tolist() == sorted([*map(list, places), *map(list, signs)])


@pytest.mark.parametrize("text", SCRIPTS.values(), ids=SCRIPTS)
def test_all_that_read_words_cut_alike(text: str) -> None:
    text = composed(text)
    every = [word.lower() for word in words_by(CHARACTERS).findall(text)]
    words_read = [word for word in every if not word.isdecimal()]
    tokens = WordTokens.build([text], splitter=CHARACTERS)
    assert set(tokens.words[2:]) == set(words_read)
    [ids] = [tokens.encode([text], 100).ids.tolist()]
    assert [tokens.token(number) for number in ids] == words_read == words_of(text, CHARACTERS)
    assert [text[slice(*place)].lower() for place in tokens.spans(text, 100)] == words_read
    terms = list(Terms(1, 2, splitter=CHARACTERS).of(text))
    assert terms[: len(every)] == every
    assert f"{every[0]} {every[1]}" in terms
    plain, places = plain_words(text)
    assert [text[slice(*place)] for place in places if LETTER.match(text, place[0])] == LETTER.findall(text)
    assert len(plain) == len(places)
    assert lengths_of([text]) == [len(words_read)]
    assert sum(map(bool, map(LETTER.match, counted_words(text)))) == len(LETTER.findall(text))
    assert words_by(CHARACTERS).beginning(text, 3) == text[: words_by(CHARACTERS).places(text)[2][1]]


def test_numerals_are_parts_of_words() -> None:
    assert words_of("三尖瓣 12 ๒ ½", CHARACTERS) == ["三", "尖", "瓣", "½"]
    assert words_of("三 12 ½") == []  # as LibMultiLabel reads words between spaces


def test_texts_without_spaces_are_known() -> None:
    assert without_spaces(["高血压病史多年建议随访", "肺炎伴咳嗽"])
    assert without_spaces(["ผู้ป่วยมีอาการไข้และไอ"])
    assert without_spaces(["高血压病史多年建议随访", "high blood pressure for many years"])
    assert not without_spaces(["high blood pressure", "kidney 肾"])
    assert not without_spaces(["高血压 病史 多年 建议 随访", "肺炎 伴 咳嗽"])
    assert not without_spaces(["អ្នក\u200bជំងឺ\u200bមាន\u200bគ្រុនក្តៅ\u200bនិង\u200bក្អក"])
    assert not without_spaces(["환자는 당뇨병으로 입원하였다"])
    assert not without_spaces([])


SOME = "肺ไข้ \u200b\u0301\ufe0f\n. x1Ö🙂"


@given(st.lists(st.text(st.sampled_from(SOME), max_size=30), max_size=4))
def test_scripts_without_spaces_are_found_as_character_by_character(texts: list[str]) -> None:
    sample = "\n".join(texts)
    letters = sum(character.isalpha() for character in sample)
    stretches = [len(there) for part in words.BREAK.split(sample) if (there := "".join(LETTER.findall(part)))]
    expected = sum(stretches) > max(words.SHARE * letters, words.STRETCH * len(stretches))
    assert without_spaces(texts) == expected


def test_texts_with_spaces_are_cut_as_ever() -> None:
    text = "The cat_1 x 42 高血压 病史"
    assert words_by(None).findall(text) == ["The", "cat_1", "x", "42", "高血压", "病史"]
    assert words_by(None).terms(text) == ["The", "cat_1", "42", "高血压", "病史"]
    assert words_by(None).beginning(text, 2) == "The cat_1"
    assert splitter_of([text]) is None
    assert said_of(None) == ""
    assert words_by(None).shown("a-b", signs=True).tolist() == [[0, 1], [1, 2], [2, 3]]
    assert words_by(None).shown("", signs=False).shape == (0, 2)
    assert words_by(CHARACTERS).shown("", signs=False).dtype == np.int64
    assert words_by(CHARACTERS).beginning("", 3) == ""


@pytest.fixture
def pairs(monkeypatch: pytest.MonkeyPatch):
    """An installed package with a word splitter that cuts two characters at a time, and one that makes words up."""
    module = ModuleType("plant_test_pairs")
    module.cut = lambda text: re.findall("..?", text)  # type: ignore[attr-defined]
    module.invented = lambda text: ["x"]  # type: ignore[attr-defined]
    monkeypatch.setitem(__import__("sys").modules, module.__name__, module)
    targets = {"pairs": "cut", "invented": "invented", "gone": "gone"}
    entries = [EntryPoint(name, f"plant_test_pairs:{target}", words.GROUP) for name, target in targets.items()]
    monkeypatch.setattr(words, "entry_points", lambda group: entries if group == words.GROUP else [])
    words_by.cache_clear()
    yield
    words_by.cache_clear()


def test_a_package_cuts_words(pairs: None) -> None:
    text = "CT显示肺炎 2天。"
    cut = words_by("pairs")
    assert cut.findall(text) == ["CT", "显示", "肺炎", "2", "天"]
    assert [text[slice(*place)] for place in cut.places(text)] == cut.findall(text)
    assert cut.shown(text, signs=True).tolist()[-1] == [len(text) - 1, len(text)]
    assert splitter_of([text], "pairs") == "pairs"
    assert said_of("pairs").endswith("they are cut by pairs")
    assert WordTokens.build([text], splitter="pairs").words[2:] == ["ct", "天", "显示", "肺炎"]


def test_words_with_spaces_between_them_for_libmultilabel(pairs: None) -> None:
    text = "CT显示肺炎 2天。"
    assert words_by(CHARACTERS).spaced(text, pairs=False) == ["CT", "显", "示", "肺", "炎", "2", "天"]
    assert words_by(CHARACTERS).spaced(text, pairs=True) == ["CT", "2", "显示", "示肺", "肺炎"]
    assert words_by("pairs").spaced(text, pairs=True) == ["CT", "显示", "肺炎", "2", "天"]


def test_a_splitter_that_is_not_there_or_makes_words_up_is_named(pairs: None) -> None:
    with pytest.raises(ConfigError, match=r"(?s)word splitter 'pair'.*did you mean pairs"):
        splitter_of([], "pair")
    with pytest.raises(ConfigError, match="word_splitter: gone: it cannot be imported"):
        words_by("gone")
    with pytest.raises(ConfigError, match="word_splitter: invented: it returned a word that is not in the text"):
        words_by("invented").findall("肺炎")


def test_the_only_installed_splitter_cuts_texts_without_spaces(monkeypatch: pytest.MonkeyPatch, pairs: None) -> None:
    assert splitter_of(["CT显示肺炎两天后好转"]) == CHARACTERS  # of several none is chosen for anybody
    [entry] = [each for each in words.entry_points(words.GROUP) if each.name == "pairs"]
    monkeypatch.setattr(words, "entry_points", lambda group: [entry])
    assert splitter_of(["CT显示肺炎两天后好转"]) == "pairs"
    assert splitter_of(["pneumonia on CT"]) is None
