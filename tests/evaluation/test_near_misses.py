"""Near misses: numbers by hand, a slow literal version, and what is not scored or does not count."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from plant_plugin.evaluation.near_misses import Level, near_misses

# Five codes: E11.0, E11.9, E10.0 in one block; I10, I11 in another.
CATEGORY = Level("category", ["E10", "E11", "I10", "I11"], sp.csr_matrix(np.eye(4, dtype=np.float32)[[1, 1, 0, 2, 3]]))
BLOCK = Level("block", ["E08-E13", "I10-I1A"], sp.csr_matrix(np.eye(2, dtype=np.float32)[[0, 0, 0, 1, 1]]))
LEVELS = (CATEGORY, BLOCK)


def test_numbers_by_hand() -> None:
    """E11.9 for E11.0 is off by a code, I10 for nothing; in the second document E10.0 for E11.9 by a category."""
    truth = np.array([[1, 0, 0, 0, 0], [0, 1, 0, 0, 1]])
    scores = np.array([[-1, 2, -3, 1, -2], [-2, -1, 3, -4, 1.0]], np.float32)
    near = near_misses(scores, sp.csr_matrix(truth), LEVELS, {"0.5": 0.0})
    assert near["wrong"]["0.5"] == {"pairs": 3, "shares": {"category": 1 / 3, "block": 1 / 3, "elsewhere": 1 / 3}}
    assert near["missed"]["0.5"] == {"pairs": 2, "shares": {"category": 0.5, "block": 0.5, "elsewhere": 0.0}}
    category, block = near["levels"]["category"], near["levels"]["block"]
    assert (category["groups"], block["groups"]) == (4, 2)
    assert category["metrics"]["Micro-P@0.5"] == 2 / 4  # E11 and I11 of E11, I10, E10, I11
    assert category["metrics"]["Micro-R@0.5"] == pytest.approx(2 / 3)
    assert block["metrics"]["Micro-P@0.5"] == 3 / 4
    assert block["metrics"]["Micro-R@0.5"] == 1.0
    assert category["metrics"]["P@1"] == 0.5
    assert "P@3" in category["metrics"]
    assert "P@3" not in block["metrics"]  # it has two groups


def slow(scores: np.ndarray, truth: np.ndarray, limit: float) -> dict[str, list[int]]:
    counts = {"wrong": [0, 0, 0], "missed": [0, 0, 0]}
    for of_document, true in zip(scores > limit, truth > 0, strict=True):
        for kind, these, others in (("wrong", of_document, true), ("missed", true, of_document)):
            for label in np.flatnonzero(these & ~others):
                for place, level in enumerate((*LEVELS, None)):
                    member = None if level is None else level.member.toarray() > 0
                    if member is None or any((member[label] & member[other]).any() for other in np.flatnonzero(others)):
                        counts[kind][place] += 1
                        break
    return counts


def test_distances_are_those_of_the_definition() -> None:
    generator = np.random.default_rng(3)
    scores = generator.normal(size=(60, 5)).astype(np.float32)
    truth = (generator.random((60, 5)) < 0.3).astype(np.float32)
    wanted = slow(scores, truth, 0.4)
    near = near_misses(scores, sp.csr_matrix(truth), LEVELS, {"micro": 0.4})
    for kind, distance in (("wrong", near["wrong"]["micro"]), ("missed", near["missed"]["micro"])):
        assert distance["pairs"] == sum(wanted[kind])
        assert [round(share * distance["pairs"]) for share in distance["shares"].values()] == wanted[kind]
    order = generator.permutation(60)
    assert near_misses(scores[order], sp.csr_matrix(truth[order]), LEVELS, {"micro": 0.4})["wrong"] == near["wrong"]


def test_a_label_may_belong_to_several_groups() -> None:
    both = Level("category", ["x", "y"], sp.csr_matrix(np.array([[1, 1], [0, 1], [1, 0]], np.float32)))
    truth, scores = np.array([[0, 1, 0]]), np.array([[1.0, -1.0, 1.0]])
    near = near_misses(scores, sp.csr_matrix(truth), [both], {"0.5": 0.0})
    assert near["wrong"]["0.5"]["shares"] == {"category": 0.5, "elsewhere": 0.5}
    assert near["levels"]["category"]["metrics"]["Micro-R@0.5"] == 1.0


def test_what_is_not_scored_or_filtered_counts_neither_way() -> None:
    truth = sp.csr_matrix(np.array([[1, 0, 0, 0, 0]]))
    stored = sp.csr_matrix(([-1.0, 2.0], ([0, 0], [0, 3])), shape=(1, 5), dtype=np.float32)
    near = near_misses(stored, truth, LEVELS, {"0.5": 0.0})
    assert near["wrong"]["0.5"] == {"pairs": 1, "shares": {"category": 0.0, "block": 0.0, "elsewhere": 1.0}}
    removed = sp.csr_matrix(([1.0], ([0], [3])), shape=(1, 5))
    near = near_misses(stored, truth, LEVELS, {"0.5": 0.0}, removed)
    assert near["wrong"]["0.5"] == {"pairs": 0, "shares": {}}
    assert near["missed"]["0.5"]["pairs"] == 1
