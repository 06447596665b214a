from __future__ import annotations

import random

import pytest

from plant_plugin.prepare.mimic.notes import STYLES, CamlStyle, EdinStyle, RawStyle, Style, moved, style_named


@pytest.mark.parametrize(
    ("text", "caml", "caml_program", "edin", "raw"),
    [
        ("Pain: 500 mg, 250MG\r\nb_1 1_2 __", "pain mg 250mg b_1", "pain mg 250mg b_1 1_2 __", "pain mg 250mg b", None),
        ("12 a 3 4 b 5", "a b", "a b", "12 a b 5", "12 a 3 4 b 5"),  # Edin's rule needs a space on both sides
        (" (a) 7. ", "a", "a", "a", "(a) 7."),
        ("Fièvre ½ ²", "fièvre", "fièvre", "fi vre", "Fièvre ½ ²"),
        ("\t\n", "", "", "", ""),
        ("a\r\nb\tc", "a b c", "a b c", "a b c", "a  b c"),
    ],
)  # fmt: skip
def test_styles(text: str, caml: str, caml_program: str, edin: str, raw: str | None) -> None:
    assert CamlStyle()(text) == caml
    assert CamlStyle(numbers_only=True)(text) == caml_program
    assert EdinStyle()(text) == edin
    if raw is not None:
        assert RawStyle()(text) == raw


def test_caml_style_gives_libmultilabels_words() -> None:
    """With CAML's own rule, preparing and then cutting into words is the same as cutting the note at once."""
    from plant_plugin.data.words import words_of

    text = "Hello, WORLD 12 x12 ___ 1_2 ½ don't 250mg/day"
    assert CamlStyle(numbers_only=True)(text).split() == words_of(text)


def test_styles_by_name() -> None:
    assert [style_named(name)("A 1 b") for name in STYLES] == ["a b", "a b", "A 1 b"]
    assert style_named("caml", caml_compatible=True)("___ x") == "___ x"


ALL_STYLES: list[Style] = [CamlStyle(), CamlStyle(numbers_only=True), EdinStyle(), RawStyle()]


@pytest.mark.parametrize("style", ALL_STYLES, ids=["caml", "caml program", "edin", "raw"])
def test_pieces_are_what_a_style_writes(style: Style) -> None:
    draw = random.Random(1)
    for _ in range(500):
        note = "".join(draw.choices("aBé½İΣß_7 12\t\n-. ", k=draw.randrange(30)))
        pieces = style.pieces(note)
        assert " ".join(kept for *_, kept in pieces) == style(note)
        for start, end, kept in pieces:
            found = moved((start, end), pieces)
            assert found is not None
            assert style(note)[slice(*found)] == kept


@pytest.mark.parametrize(
    ("span", "words"),
    [
        ("Pain, 500 mg", "pain mg"),  # a number between is left out, and the comma
        ("500", None),
        ("in, 5", "in"),  # from the middle of a word
        ("mg\tİnfec", "mg i̇nfection"),  # a word that gets longer with its case is taken whole
        (".", None),
    ],
)
def test_spans_move_with_their_words(span: str, words: str | None) -> None:
    note = "Chest Pain, 500 mg\tİnfection."
    start, style = note.index(span), CamlStyle()
    found = moved((start, start + len(span)), style.pieces(note))
    assert (found and style(note)[slice(*found)]) == words
