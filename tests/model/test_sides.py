"""Left and right."""

from __future__ import annotations

import pytest

from plant_plugin.model.sides import mirrored, side_of, sides_said

RIGHT = "Fracture of unspecified part of neck of right femur"


def said(text: str, word: str) -> list[str]:
    start = text.index(word)
    return [side.side for side in sides_said(text, [(start, start + len(word))])]


@pytest.mark.parametrize(
    ("text", "word", "sides"),
    [
        ("fracture of the left femur", "fracture", ["left"]),
        ("a left-sided nephrectomy", "nephrectomy", ["left"]),
        ("orquiepididimitis derecha. Riñón izquierdo normal", "orquiepididimitis", ["right"]),
        ("artralgias en ambas rodillas", "artralgias", ["bilateral"]),
        ("Fraktur des linken Femurs", "Fraktur", ["left"]),
        ("fracture du fémur droit", "fracture", ["right"]),
        ("frattura del femore sinistro", "frattura", ["left"]),
        ("fratura do fémur direito", "fratura", ["right"]),
        ("pain in the right, fracture of the leg", "fracture", []),  # behind a mark
        ("right one two three four fracture", "fracture", []),  # too far
        ("brightly rightful fracture", "fracture", []),
        ("right and left fracture", "fracture", ["right", "left"]),
    ],
)
def test_sides_near_a_passage(text: str, word: str, sides: list[str]) -> None:
    assert said(text, word) == sides


def test_places_are_those_of_the_word() -> None:
    text = "a fracture of the LEFT femur"
    [side] = sides_said(text, [(2, 10)])
    assert text[side.start : side.end] == "LEFT"


def test_the_side_of_a_description() -> None:
    assert side_of(RIGHT) == "right"
    assert side_of("Idiopathic chronic gout, multiple sites") is None
    assert side_of("Blindness right eye category 3, blindness left eye category 3") is None
    assert mirrored(RIGHT) == RIGHT.replace("right", "left")
