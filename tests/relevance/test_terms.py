from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfVectorizer

from plant_plugin.relevance.ridge import RidgeOptions
from plant_plugin.relevance.terms import TermRows, Terms

EVERYTHING = RidgeOptions(model="ridge", penalty=0.5, top=10**6)


HARD = "aB9_ -éßſ²½\u0301İ、\n\u00a0𝟘"


@pytest.mark.parametrize("kind", [Terms(1, 2), Terms(2, 3), Terms(3, 5, letters=True)])
@settings(deadline=None, max_examples=30)
@given(texts=st.lists(st.text(st.sampled_from(HARD), min_size=4, max_size=30), min_size=2, max_size=6))
def test_rows_of_terms_are_those_of_scikit_learn_bit_for_bit(kind: Terms, texts: list[str]) -> None:
    texts = ["aa bb aa", "bb aa cc éé", *texts]
    counted = TfidfVectorizer(
        analyzer="char_wb" if kind.letters else "word", strip_accents="unicode" if kind.letters else None,
        ngram_range=kind[:2], sublinear_tf=True, dtype=np.float32,
    )  # fmt: skip
    counted.fit(texts[:-1])
    texts += ["", "zz"]
    expected, found = counted.transform(texts), TermRows(kind, counted.vocabulary_, counted.idf_).transform(texts)
    for name in ("data", "indices", "indptr"):
        one, other = getattr(found, name), getattr(expected, name)
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)
