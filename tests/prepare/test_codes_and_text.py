from __future__ import annotations

import random
from pathlib import Path

import pytest

from plant_plugin.errors import DataError
from plant_plugin.prepare.mimic import tables as codes
from plant_plugin.prepare.mimic.notes import STYLES, CamlStyle, EdinStyle, RawStyle, Style, moved, style_named


@pytest.mark.parametrize(
    ("version", "kind", "code", "dotted"),
    [
        (9, "diagnosis", "0389", "038.9"),
        (9, "diagnosis", "25000", "250.00"),
        (9, "diagnosis", "311", "311"),
        (9, "diagnosis", "V1582", "V15.82"),
        (9, "diagnosis", "E8889", "E888.9"),
        (9, "diagnosis", "E888", "E888"),
        (9, "procedure", "0331", "03.31"),
        (9, "procedure", "331", "33.1"),
        (10, "diagnosis", "I5022", "I50.22"),
        (10, "diagnosis", "I10", "I10"),
        (10, "diagnosis", "E119", "E11.9"),  # E is no external cause here
        (10, "procedure", "02100Z9", "02100Z9"),
    ],
)
def test_dots(version: int, kind: str, code: str, dotted: str) -> None:
    assert codes.dotted(code, version, kind) == dotted


@pytest.mark.parametrize(
    ("code", "read"),
    [
        ("03.31", "33.1"), ("33.1", "33.1"), ("99.10", "99.1"), ("99.04", "99.04"), ("00.66", "66.0"),
        ("37.22", "37.22"), ("038.9", "038.9"), ("E888.9", "E888.9"),
        ("V15.82", "V15.82"), ("311", "311"), ("250.00", "250.00"),
    ],
)  # fmt: skip
def test_as_caml_reads(code: str, read: str) -> None:
    assert codes.as_caml_reads(code) == read


def test_caml_reading_is_what_pandas_does() -> None:
    """The number that pandas makes of a column without a type, twice, is the source of the difference."""
    import io

    import pandas as pd

    column = pd.read_csv(io.StringIO('code\n"0331"\n"9910"\n"0066"\n"3722"\n'))["code"]
    dotted = [f"{str(code)[:2]}.{str(code)[2:]}" for code in column]
    again = pd.read_csv(io.StringIO("\n".join(["code", *dotted])))["code"]
    assert [str(code) for code in again] == [codes.as_caml_reads(code) for code in ("03.31", "99.10", "00.66", "37.22")]


@pytest.mark.parametrize("code", ["38.9", "038.9", "4.1E+2", "41E+2", "7", "41", "0389 4019"])
def test_codes_that_were_numbers(code: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="line 7: icd_code holds a code that was read as a number") as caught:
        codes.clean_code(code, "icd_code", tmp_path / "T.csv", 7)
    assert f"{code} " not in str(caught.value)


def test_clean_code(tmp_path: Path) -> None:
    assert [codes.clean_code(code, "c", tmp_path, 1) for code in ("0389   ", "v1582", "", " ")] == [
        "0389",
        "V1582",
        "",
        "",
    ]


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
    from plant_plugin.data.word_tokens import words_of

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
