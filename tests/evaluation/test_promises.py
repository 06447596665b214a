"""Promises and acceptances: by hand on few documents, by simulation on many."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
import scipy.sparse as sp

from plant_plugin.evaluation.promises import SHARES, Lists, is_promise, named

Array = npt.NDArray[np.float32]


def drawn(documents: int, seed: int, labels: int = 40) -> tuple[Array, sp.csr_matrix]:
    """Scores that are log odds of being true, and what is true."""
    generator = np.random.default_rng(seed)
    scores = generator.normal(-3, 3, (documents, labels)).astype(np.float32)
    return scores, sp.csr_matrix(generator.random(scores.shape) < 1 / (1 + np.exp(-scores)), dtype=np.float32)


def noted(*batches: tuple[Array | sp.csr_matrix, sp.csr_matrix]) -> Lists:
    lists = Lists()
    for _ in lists.reading(batches):
        pass
    return lists


def test_the_threshold_is_the_highest_whose_risk_is_small_enough() -> None:
    scores = np.linspace(5, -5, 19, dtype=np.float32)[:, None]  # a document each, with its only label
    lists = noted((scores, sp.csr_matrix(np.ones((19, 1), np.float32))))
    chosen, outcomes = lists.thresholds()
    # (19 R + 1) / 20 <= 0.1: one of the 19 may be missed
    assert scores[18, 0] < chosen["promise 0.9"] < scores[17, 0]
    assert outcomes["promise 0.9"] == {"documents": 19, "listed": 18 / 19, "labels": 18 / 19}
    assert chosen["promise 0.95"] < scores[18, 0]  # none
    assert "promise 0.98" not in chosen
    assert outcomes["promise 0.98"] == {"documents": 19, "needs": 49}


def test_what_has_no_score_is_missed_by_every_threshold() -> None:
    truth = sp.csr_matrix(np.ones((200, 2), np.float32))
    dense = np.tile(np.float32([3, -np.inf]), (200, 1))
    sparse = sp.csr_matrix((np.full(200, 3, np.float32), (np.arange(200), np.zeros(200, int))), shape=(200, 2))
    for scores in (dense, sparse):
        chosen, outcomes = noted((scores, truth)).thresholds()
        assert "promise 0.5" not in chosen  # half of them, and one more that new documents could miss
        assert outcomes["promise 0.9"] == {"documents": 200, "most": 0.5}
        assert outcomes["accept 0.98"]["true"] == 1


def test_documents_without_labels_say_nothing() -> None:
    scores, truth = drawn(100, 0)
    empty = np.full((50, 40), 9, np.float32), sp.csr_matrix((50, 40), dtype=np.float32)
    promises = [{name: value for name, value in noted(*batches).thresholds()[0].items() if "promise" in name}
                for batches in ([(scores, truth)], [empty, (scores, truth)])]  # fmt: skip
    assert promises[0] == promises[1]


def test_batches_and_sparse_scores_are_the_same_as_all_at_once() -> None:
    scores, truth = drawn(90, 1)
    whole = noted((scores, truth)).thresholds()
    assert noted((scores[:20], truth[:20]), (scores[20:], truth[20:])).thresholds() == whole
    assert noted((sp.csr_matrix(scores), truth)).thresholds() == whole


@pytest.mark.integration
@pytest.mark.parametrize("share", [0.8, 0.9, 0.95])
def test_promises_hold_on_new_documents(share: float) -> None:
    """Over many draws of validation documents the mean of what is listed is no less, and not by far more."""
    scores, truth = drawn(20_000, 2)
    new, listed, name = noted((scores, truth)), [], named("promise", share)
    for seed in range(3, 103):
        chosen, _ = noted(drawn(100, seed)).thresholds()
        listed.append(new.outcomes({name: chosen[name]})[name]["listed"])
    assert share - 0.004 < np.mean(listed) < share + 0.02  # 0.004: three standard errors of these draws


def test_acceptances_hold_for_nine_of_ten_draws() -> None:
    scores, truth = drawn(20_000, 2)
    new, name, held = noted((scores, truth)), "accept 0.9", []
    for seed in range(3, 103):
        chosen, _ = noted(drawn(150, seed)).thresholds()
        held.append(name not in chosen or new.outcomes({name: chosen[name]})[name]["true"] >= 0.9)
    assert np.mean(held) >= 0.85  # 0.9, less two standard errors


def test_labels_that_are_wrong_together_are_not_taken_for_many() -> None:
    """One document of ten is wholly wrong: 20 labels, each of which the binomial test takes for one draw."""
    scores, right = np.full((60, 20), 4, np.float32), np.ones((60, 20), np.float32)
    right[::30] = 0  # 40 of 1,200 labels, in two documents
    chosen, outcomes = noted((scores, sp.csr_matrix(right))).thresholds()
    assert "accept 0.95" not in chosen
    assert "most" in outcomes["accept 0.95"]
    assert "accept 0.9" in chosen


def test_names() -> None:
    names = [named(kind, share) for kind, shares in SHARES.items() for share in shares]
    assert all(map(is_promise, names))
    assert not any(map(is_promise, ("0.5", "micro", "macro")))
    assert {*noted(drawn(30, 1)).thresholds()[1]} == {*names}


def test_labels_that_nothing_makes_known_are_not_promised() -> None:
    scores, truth = drawn(80, 5)
    scores[:, 30:] = -20  # as of labels that training never showed
    known = np.arange(40) < 30
    lists = Lists(known)
    lists.update(scores, truth)
    chosen, outcomes = lists.thresholds()
    only = noted((scores[:, :30], truth[:, :30])).thresholds()
    assert {name: value for name, value in chosen.items() if "promise" in name} == {
        name: value for name, value in only[0].items() if "promise" in name
    }
    assert outcomes["promise 0.9"]["listed"] == only[1]["promise 0.9"]["listed"]
    lists = Lists(known)
    lists.update(sp.csr_matrix(scores), truth)
    assert lists.thresholds() == (chosen, outcomes)
