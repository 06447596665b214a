"""Agreement of words with coders' spans, computed by hand and beside scikit-learn."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score

from plant_plugin.evaluation.plausibility import (
    MEASURES,
    OrderedPairs,
    average_precision,
    bootstrap_means,
    hit_at,
    marked_words,
    shares_of_strongest,
)

WORDS = np.array([[0, 3], [4, 9], [10, 12], [13, 20]])


@pytest.mark.parametrize(
    ("spans", "expected"),
    [
        ([(4, 9)], [False, True, False, False]),
        ([(3, 4)], [False, False, False, False]),  # the space between two words
        ([(2, 5), (19, 30)], [True, True, False, True]),
        ([], [False, False, False, False]),
    ],
)
def test_words_that_share_a_character_are_marked(spans: list[tuple[int, int]], expected: list[bool]) -> None:
    assert marked_words(WORDS, spans).tolist() == expected


def test_strengths_are_shares_of_the_strongest() -> None:
    assert shares_of_strongest(np.array([1.0, 4.0, -2.0])).tolist() == [0.25, 1.0, 0.0]
    assert shares_of_strongest(np.array([-1.0, -4.0])).tolist() == [0.0, 0.0]
    assert shares_of_strongest(np.array([])).tolist() == []


def test_measures_by_hand() -> None:
    strength, marked = np.array([0.4, 1.0, 0.1, 0.8, 0.0]), np.array([True, True, False, False, False])
    [found] = OrderedPairs([strength], [marked]).values(0.4)
    # named at 0.4 and above: words 0, 1, 3; marked 0, 1. Ranks: word 1, 3, 0.
    expected = [2 / 3, 1.0, 4 / 5, 2 / 3, (1 / 1 + 2 / 3) / 2, 1.0, 1.0]
    assert dict(zip(MEASURES, found, strict=True)) == pytest.approx(dict(zip(MEASURES, expected, strict=True)))
    [none_above] = OrderedPairs([np.zeros(5)], [marked]).values(0.4)
    assert none_above[:4].tolist() == [0, 0, 0, 0]
    assert none_above[4:].tolist() == pytest.approx([2 / 5, 2 / 5, 1.0])


def test_the_best_share_is_that_of_the_mean_f1() -> None:
    strengths = [np.array([1.0, 0.5, 0.2]), np.array([2.0, 0.7, 0.5])]
    marked = [np.array([True, True, False]), np.array([True, True, False])]
    pairs = OrderedPairs(strengths, marked)
    assert pairs.best_share() == 0.26  # above 0.25 the third word of the second pair is not named, above 0.35 too few
    assert pairs.values(0.26)[:, :4].tolist() == [[1, 1, 1, 1]] * 2


@given(
    st.lists(st.tuples(st.integers(-2, 3), st.booleans()), min_size=1, max_size=9).filter(
        lambda x: any(m for _, m in x)
    )
)
def test_ties_are_not_broken(pairs: list[tuple[int, bool]]) -> None:
    strength, marked = np.array([one for one, _ in pairs], float), np.array([mark for _, mark in pairs])
    assert average_precision(strength, marked) == pytest.approx(average_precision_score(marked, strength))
    for rank in (1, 2):
        orders = (
            [
                order
                for order in itertools.permutations(range(len(pairs)))
                if all(strength[a] >= strength[b] for a, b in itertools.pairwise(order))
            ]
            if len(pairs) < 7
            else []
        )
        if orders:
            hits = [marked[list(order[:rank])].any() for order in orders]
            assert hit_at(strength, marked, rank) == pytest.approx(np.mean(hits))


def test_intervals_draw_documents_not_pairs() -> None:
    alone = bootstrap_means(np.arange(100.0)[:, None] % 2, np.arange(100))
    assert alone[:, 0] == pytest.approx([0.5, 0.4, 0.6], abs=0.02)
    of_one_document = bootstrap_means(np.arange(100.0)[:, None] % 2, np.zeros(100, int))
    assert of_one_document[:, 0].tolist() == [0.5, 0.5, 0.5]
    of_two = bootstrap_means(np.repeat([0.0, 1.0], 50)[:, None], np.repeat([3, 8], 50))
    assert of_two[:, 0].tolist() == [0.5, 0.0, 1.0]


def test_the_curve_tells_words_named_and_recall() -> None:
    curve = OrderedPairs([np.array([1.0, 0.5, 0.0, 0.0])], [np.array([True, True, True, False])]).curve()
    assert curve[0].tolist() == [0.5, pytest.approx(2 / 3)]
    assert curve[-1].tolist() == [0.25, pytest.approx(1 / 3)]
