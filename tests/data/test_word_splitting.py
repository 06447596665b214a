from __future__ import annotations

import re
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plant_plugin.data import word_loops, word_splitting
from plant_plugin.data.word_splitting import split_words
from plant_plugin.data.word_tokens import documents_with_words

HARD = "aZ9_ -éßſ²½\u0301\u0903五İ\u200d、𝟘𐐷\ud800\x00"


def literal(text: str) -> list[str]:
    """LibMultiLabel's words before they are lower-cased."""
    from nltk.tokenize import RegexpTokenizer

    return [word for word in RegexpTokenizer(r"\w+").tokenize(text) if not word.isnumeric()]


def words_of_each(texts: list[str], most: int | None = None) -> list[list[str]]:
    found = []
    for part in split_words(texts, most):
        assert len(set(part.words)) == len(part.words)
        assert part.numbers.dtype == np.int32
        for start, stop in zip(part.offsets[:-1], part.offsets[1:], strict=True):
            found.append([part.words[number] for number in part.numbers[start:stop]])
    return found


@pytest.mark.parametrize("short", [0, 10, word_splitting.SHORT], ids="compiled mixed plain".split())
@settings(deadline=None, max_examples=50)  # the first call compiles
@given(texts=st.lists(st.text(st.sampled_from(HARD), max_size=12), max_size=6), most=st.integers(0, 4))
def test_equal_to_nltk_text_by_text(short: int, texts: list[str], most: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(word_splitting, "SHORT", short)
        assert words_of_each(texts) == [literal(text) for text in texts]
        assert words_of_each(texts, most) == [literal(text)[:most] for text in texts]


def test_short_texts_give_the_same_numbers_without_compiled_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["The the 12 dog é", "", "naïve dog 12é the", "²"]
    (compiled,) = word_splitting._split_long(texts, None)
    monkeypatch.delattr(word_loops, "split")
    (plain,) = split_words(texts)
    assert plain.words == compiled.words
    for name in ("numbers", "offsets"):
        one, other = getattr(plain, name), getattr(compiled, name)
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


def test_short_texts_do_not_import_numba() -> None:
    program = (
        "import sys; from plant_plugin.data.tokens import WordTokens; "
        "print(WordTokens(['<pad>', '<unk>', 'a']).encode(['A naïve a'], 9).ids, 'numba' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[2 1 2] False\n"


def test_every_character_is_what_nltk_says_of_it_alone() -> None:
    from nltk.tokenize import RegexpTokenizer

    belongs = RegexpTokenizer(r"\w+").tokenize
    kinds = word_splitting._kinds(word_splitting.CODE_POINTS)
    for code in {*range(0x600), *range(0, word_splitting.CODE_POINTS, 97)}:
        assert (kinds[code] != word_splitting.NO_WORD) == bool(belongs(chr(code)))
        if kinds[code]:
            assert (kinds[code] == word_splitting.NUMBER) == chr(code).isnumeric()
    np.testing.assert_array_equal(kinds[: word_splitting.ASCII], word_splitting._kinds(word_splitting.ASCII))


def test_more_distinct_words_than_there_is_room_for_at_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_splitting, "SHORT", 0)
    many = 5 * word_loops.FIRST_ROOM // 2
    texts = ["first text", " ".join(f"w{number:x}" for number in range(many)), "first w0 again w1 again"]
    assert words_of_each(texts) == [re.findall(r"\w+", text) for text in texts]
    monkeypatch.setattr(word_splitting, "PART_BYTES", 8)  # more parts than threads
    texts = [f"t{number} é t{number % 3}" for number in range(100)]
    assert len(list(split_words(texts))) == 100
    assert words_of_each(texts) == [literal(text) for text in texts]


def test_documents_with_counts_a_word_once_a_document_whatever_its_case() -> None:
    assert documents_with_words(["The the dog", "", "the THE", "Dog"]) == {"the": 2, "dog": 2}
    assert documents_with_words(["", "7"]) == documents_with_words([]) == {}


def test_no_texts() -> None:
    assert list(split_words([])) == []
