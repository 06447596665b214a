from __future__ import annotations

import numpy as np
import pytest

from plant_plugin.relevance.names.index import NameIndex, Translated, first_of_each, stems_of

ROWS = [
    ("K1", "stenosis of aorta"),
    ("K2", "rupture of spleen"),
    ("K2", "ruptured spleen"),
    ("K3", "spleen of rupture"),
]


def found(index: NameIndex, text: str, lexicon: dict[str, list[tuple[str, float]]] | None = None) -> dict[str, float]:
    result = index.find(stems_of(text), Translated(index.stems, lexicon or {}))
    return {index.names[name]: float(cover) for name, cover in zip(result.names, result.cover, strict=True)}


def test_a_name_whose_words_stand_together_is_covered_whole_and_endings_do_not_matter() -> None:
    index = NameIndex.of(ROWS)
    covers = found(index, "no stenosis; spleens with a rupture of old date")
    assert covers["rupture of spleen"] == pytest.approx(1)
    assert covers["stenosis of aorta"] < 1


def test_words_that_stand_far_apart_are_no_name() -> None:
    index = NameIndex.of(ROWS)
    near, far = found(index, "stenosis x aorta of"), found(index, f"stenosis {'x ' * 20} of aorta")
    assert near["stenosis of aorta"] > far["stenosis of aorta"]


def test_a_lexicon_translates_with_its_probability() -> None:
    index = NameIndex.of([("K1", "stenosis aorta"), ("K2", "rupture spleen")])
    lexicon = {"estrec": [("stenos", 0.5)]}
    assert found(index, "estrechez aorta", lexicon)["stenosis aorta"] == pytest.approx(0.75, abs=0.01)


def test_names_with_the_same_words_count_once_for_a_label_and_the_first_stays() -> None:
    index = NameIndex.of([("K", "spleen rupture"), ("K", "rupture, spleen"), ("L", "rupture spleen")])
    assert (index.names, index.of_label.tolist()) == (["spleen rupture", "rupture spleen"], [0, 1])


def test_what_texts_seldom_say_counts_less() -> None:
    rows = [("K1", "rupture spleen unspecified"), ("K2", "oedema larynx")]
    plain = found(NameIndex.of(rows), "rupture spleen")["rupture spleen unspecified"]
    weighed = found(NameIndex.of(rows, {"unspec": 0.1}), "rupture spleen")["rupture spleen unspecified"]
    assert weighed > 0.9 > plain


def test_a_text_without_any_known_word_holds_no_name() -> None:
    assert found(NameIndex.of(ROWS), "") == found(NameIndex.of(ROWS), "nothing here") == {}


def test_the_best_of_each_label_is_chosen() -> None:
    best = first_of_each(np.array([4, 2, 4, 2]), np.array([0.1, 0.5, 0.3, 0.2], np.float32))
    assert best.tolist() == [1, 2]
