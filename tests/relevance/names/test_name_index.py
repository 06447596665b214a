from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
import scipy.sparse as sp

from plant_plugin.relevance.names.name_index import NameIndex, first_of_each, stems_of, telling
from plant_plugin.relevance.names.translation import Translated

LEAST = 0.3


def test_of_a_name_that_is_held_enough_of_a_telling_stem_is_held() -> None:
    drawn = random.Random(0)
    idf = np.array([drawn.uniform(0.01, 5) for _ in range(12)], np.float32)
    rows = [sorted(drawn.sample(range(12), drawn.randint(1, 6))) for _ in range(40)]
    entries = np.ones(sum(map(len, rows)), np.float32), np.concatenate(rows), np.cumsum([0, *map(len, rows)])
    matrix = sp.csr_array(entries, (40, 12))
    first, others, rest = telling(matrix, idf, matrix @ idf, LEAST)
    np.testing.assert_allclose(rest, others.toarray() @ idf, rtol=1e-5)
    np.testing.assert_array_equal((first.T + others).toarray(), matrix.toarray())
    assert others.nnz
    by_name = sp.csr_array(first.T)
    for name, row in enumerate(rows):
        stems = set(by_name.indices[by_name.indptr[name] : by_name.indptr[name + 1]].tolist())
        for size in range(1, len(row) + 1):
            for held in itertools.combinations(row, size):
                if idf[list(held)].sum() >= LEAST * idf[row].sum():
                    assert stems & set(held)


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
