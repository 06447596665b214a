"""Per-document values, resampling and tests, beside the evaluator itself and tests written out at length."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import wilcoxon

from plant_plugin.errors import DataError
from plant_plugin.evaluation import classification, names, resampling
from plant_plugin.evaluation.metrics import Evaluator
from plant_plugin.evaluation.per_document import PerDocument, load_per_document
from plant_plugin.evaluation.resampling import DocumentSums, compare_documents, computable
from plant_plugin.evaluation.verdict import BETTER, NO_DIFFERENCE, TOO_FEW, WORSE

NUMBER, LABELS = 60, 24
THRESHOLDS = {"0.5": 0.0, "micro": 0.4, "macro": -0.6}
TRAIN = np.array([0, 0, 2, 3, 5, 6, 8, 10, 12, 30, 51, 70, 101, 200, 400, 501, 600, 700, 1, 2, 3, 4, 5, 60])
NAMES = [
    *(f"{family}@{k}" for family in names.RANKED for k in (1, 5)),
    *(f"{family}@{threshold}" for family in names.CLASSIFIED for threshold in THRESHOLDS),
    *(f"{family}@macro:1-5" for family in ("Macro-F1", "Macro-F1-present", "Macro-F1-caml")),
    "MAP",
    "MAP-gold",
]
OUTSIDE = np.arange(NUMBER) % 4  # true labels of each document that are not among the columns
COLUMNS = [f"label {number}" for number in range(LABELS)]


def drawn(seed: int, quality: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    truth = np.random.default_rng(1).random((NUMBER, LABELS)) < 0.12
    truth[:, 3] = False
    truth[5] = False
    noise = np.random.default_rng(seed).standard_normal(truth.shape)
    return (noise + quality * (2 * truth - 1)).astype(np.float32), truth


def evaluated(
    scores: np.ndarray, truth: np.ndarray, asked: list[str] = NAMES, outside: np.ndarray = OUTSIDE
) -> Evaluator:
    evaluator = Evaluator(
        truth.shape[1],
        metrics=asked,
        train_label_counts=TRAIN,
        num_train=900,
        thresholds=THRESHOLDS,
        outside=outside,
        keep_documents=True,
    )
    for start in range(0, len(scores), 7):
        evaluator.update(scores[start : start + 7], truth[start : start + 7])
    return evaluator


def kept(seed: int, quality: float = 1.0) -> PerDocument:
    return evaluated(*drawn(seed, quality)).per_document(COLUMNS)


def sums(documents: PerDocument, asked: list[str] = NAMES) -> DocumentSums:
    return DocumentSums(documents, [names.parse_metric(name) for name in asked])


def values(run: DocumentSums, weights: np.ndarray) -> np.ndarray:
    return run.resampled(np.atleast_2d(weights).astype(float))


def test_a_resample_has_the_metrics_of_its_documents_scored_again() -> None:
    scores, truth = drawn(2)
    run = sums(kept(2))
    rng = np.random.default_rng(0)
    rows = [np.arange(NUMBER), rng.integers(0, NUMBER, NUMBER), rng.integers(0, 9, NUMBER)]
    weights = np.stack([np.bincount(chosen, minlength=NUMBER) for chosen in rows])
    expected = [
        list(evaluated(scores[chosen], truth[chosen], outside=OUTSIDE[chosen]).compute().values()) for chosen in rows
    ]
    np.testing.assert_allclose(values(run, weights), np.nan_to_num(expected), atol=2e-7)


def test_documents_come_back_in_the_order_of_their_file() -> None:
    scores, truth = drawn(2)
    order = np.random.default_rng(3).permutation(NUMBER)
    evaluator = Evaluator(LABELS, metrics=NAMES, train_label_counts=TRAIN, num_train=900, thresholds=THRESHOLDS,
                          outside=OUTSIDE, keep_documents=True)  # fmt: skip
    for part in np.array_split(order, 4):
        evaluator.update(scores[part], truth[part], part)
    found, expected = evaluator.per_document(COLUMNS), kept(2)
    np.testing.assert_array_equal(found.top, expected.top)
    np.testing.assert_array_equal(found.average_precision, expected.average_precision)
    np.testing.assert_array_equal(found.gold_precision, expected.gold_precision)
    assert (found.truth != expected.truth).nnz == 0
    assert all((found.predicted[name] != expected.predicted[name]).nnz == 0 for name in THRESHOLDS)


def test_round_trip(tmp_path: Path) -> None:
    documents = kept(2)
    path = tmp_path / "per_document.npz"
    documents.save(path)
    found = load_per_document(path)
    assert found.labels == COLUMNS
    assert (found.num_train, found.propensity) == (900, (0.55, 1.5))
    np.testing.assert_array_equal(found.train_counts, TRAIN)
    np.testing.assert_array_equal(values(sums(found), np.ones(NUMBER)), values(sums(documents), np.ones(NUMBER)))


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 torn", b"text"])
def test_a_torn_file_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "per_document.npz"
    path.write_bytes(content)
    with pytest.raises(DataError, match="per-document values"):
        load_per_document(path)


def test_another_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "per_document.npz"
    np.savez(path, version=np.array(99))
    with pytest.raises(DataError, match="per-document values"):
        load_per_document(path)


def test_a_larger_label_set_changes_only_means_over_all_labels_where_these_count() -> None:
    documents = kept(2)
    larger = documents.under(["a first one", *reversed(COLUMNS), "one more"])
    assert larger.train_counts is not None
    assert values(sums(larger), np.ones(NUMBER))[0] == pytest.approx(values(sums(documents), np.ones(NUMBER))[0])
    larger = replace(larger, train_counts=np.maximum(larger.train_counts, 0))
    before, after = (values(sums(found), np.ones(NUMBER))[0] for found in (documents, larger))
    for name, old, new in zip(NAMES, before, after, strict=True):
        if name in ("Macro-P@macro", "Macro-F1@macro"):
            assert new == pytest.approx(old * LABELS / (LABELS + 2))
        elif not name.startswith("Macro") or "present" in name or ":" in name:
            assert new == pytest.approx(old)


def test_what_is_not_kept_is_not_computable(monkeypatch: pytest.MonkeyPatch) -> None:
    documents = kept(2)
    assert all(computable(names.parse_metric(name), documents) for name in NAMES)
    for name in ("P@8", "Loss", "Micro-F1@0.3", "AUC-macro", "AUC-micro"):
        assert not computable(names.parse_metric(name), documents)
    without = replace(documents, average_precision=None, train_counts=None, num_train=None, gold_precision=None)
    for name in ("MAP", "MAP-gold", "PSP@1", "Macro-F1@macro:1-5"):
        assert not computable(names.parse_metric(name), without)
    monkeypatch.setattr(classification, "MOST_PAIRS", 300)
    few = evaluated(*drawn(2)).per_document(COLUMNS).predicted
    assert "macro" not in few  # the lowest threshold predicts the most
    assert "micro" in few


def test_sparse_scores_keep_no_average_precision_by_default() -> None:
    scores, truth = drawn(2)
    evaluator = Evaluator(LABELS, outside=OUTSIDE, keep_documents=True)
    evaluator.update(sp.csr_matrix(np.where(scores > 0.5, scores, 0)), truth)
    assert "MAP" not in evaluator.compute()
    documents = evaluator.per_document(COLUMNS)
    assert documents.average_precision is None
    assert np.nanmean(documents.gold_precision) == pytest.approx(evaluator.compute()["MAP-gold"], abs=1e-7)
    np.testing.assert_array_equal(documents.predicted["0.5"].toarray() > 0, scores > 0.5)


def test_without_being_asked_nothing_is_kept() -> None:
    evaluator = Evaluator(LABELS)
    evaluator.update(*drawn(2))
    with pytest.raises(ValueError, match="keep_documents"):
        evaluator.per_document(COLUMNS)


def test_bootstrap_and_randomisation_written_out() -> None:
    first, second, asked = kept(2, 1.2), kept(3, 1.0), ["P@1", "Micro-F1@micro"]
    found = compare_documents([sums(first, asked)], [sums(second, asked)], resamples=40, seed=7)
    rng = np.random.default_rng(7)
    draws = rng.multinomial(NUMBER, np.full(NUMBER, 1 / NUMBER), size=40)
    swaps = rng.integers(0, 2, size=(40, NUMBER)).astype(bool)

    def micro_f1(choice: list[tuple[PerDocument, int]]) -> float:
        hit = predicted = true = 0.0
        for documents, row in choice:
            chosen, wanted = documents.predicted["micro"][row].toarray()[0], documents.truth[row].toarray()[0]
            hit, predicted, true = hit + (chosen * wanted).sum(), predicted + chosen.sum(), true + wanted.sum()
        return 2 * hit / (predicted + true)

    def f1_gain(one: list[tuple[PerDocument, int]], other: list[tuple[PerDocument, int]]) -> float:
        return micro_f1(one) - micro_f1(other)

    rows = range(NUMBER)
    observed = f1_gain([(first, row) for row in rows], [(second, row) for row in rows])
    resampled = []
    for draw in draws:
        chosen = np.repeat(np.arange(NUMBER), draw).tolist()
        resampled.append(f1_gain([(first, row) for row in chosen], [(second, row) for row in chosen]))
    extreme = 0
    for swap in swaps:
        one = [(second if swap[row] else first, row) for row in rows]
        other = [(first if swap[row] else second, row) for row in rows]
        extreme += abs(f1_gain(one, other)) >= abs(observed) - 1e-12
    comparison = found["Micro-F1@micro"]
    assert comparison.gain == pytest.approx(observed)
    moved = np.array(resampled) - np.median(resampled) + observed
    assert [comparison.low, comparison.high] == pytest.approx(np.quantile(moved, [0.025, 0.975]), abs=1e-6)
    assert comparison.randomisation == pytest.approx((extreme + 1) / 41)
    assert comparison.wilcoxon is None
    hits = [[documents.truth[row, documents.top[row, 0]] for row in rows] for documents in (first, second)]
    expected = wilcoxon(np.subtract(*hits), method="approx").pvalue
    assert found["P@1"].wilcoxon == pytest.approx(expected)


def test_the_gain_of_a_macro_metric_lies_within_its_interval() -> None:
    """Labels of one document each: a resample leaves out a third of them, and no gain is as large as that of all."""
    truth, asked, outside = np.eye(LABELS, dtype=bool), ["Macro-F1@micro"], np.zeros(LABELS, dtype=int)
    right, wrong = (
        evaluated(sign * np.where(truth, 1.0, -1.0).astype(np.float32), truth, asked, outside) for sign in (1, -1)
    )
    runs = [sums(one.per_document(COLUMNS), asked) for one in (right, wrong)]
    comparison = compare_documents([runs[0]] * 3, [runs[1]] * 3, resamples=200)["Macro-F1@micro"]
    assert comparison.gain == pytest.approx(1.0)
    assert comparison.low < comparison.gain < comparison.high
    assert comparison.verdict == BETTER


def test_few_draws_that_differ_do_not_move_the_interval_off_the_gain() -> None:
    """One draw in 256 misses all three documents with a label: their mean lies below 95 % of the draws."""
    truth, asked, outside = np.zeros((4, LABELS), dtype=bool), ["Micro-F1@micro"], np.zeros(4, dtype=int)
    truth[:3, 0] = True
    runs = [
        sums(
            evaluated(sign * np.where(truth, 1.0, -1.0).astype(np.float32), truth, asked, outside).per_document(
                COLUMNS
            ),
            asked,
        )
        for sign in (1, -1)
    ]
    comparison = compare_documents([runs[0]], [runs[1]], resamples=2000)["Micro-F1@micro"]
    assert (comparison.gain, comparison.low, comparison.high) == (1.0, 1.0, 1.0)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    documents=st.integers(1, 25),
    labels=st.integers(2, 12),
    share=st.sampled_from([0.01, 0.1, 0.5]),
    quality=st.tuples(st.floats(-1.0, 3.0), st.floats(-1.0, 3.0)),
    resamples=st.sampled_from([1, 20, 200]),
)
def test_no_gain_lies_outside_its_own_interval(
    seed: int, documents: int, labels: int, share: float, quality: tuple[float, float], resamples: int
) -> None:
    """Labels that few documents have, in splits so small that most draws miss some of them, or hardly any does."""
    generator = np.random.default_rng(seed)
    truth = generator.random((documents, labels)) < share
    asked = ["P@1", "Micro-F1@micro", "Macro-F1@0.5", "Macro-F1-present@macro", "Macro-F1-caml@macro", "Macro-P@macro",
             "Macro-R@macro", "Macro-F1@macro:1-5", "PSP@1", "MAP"]  # fmt: skip
    runs = []
    for one in quality:
        evaluator = Evaluator(labels, metrics=asked, train_label_counts=np.arange(labels), num_train=50,
                              thresholds=THRESHOLDS, keep_documents=True)  # fmt: skip
        evaluator.update(generator.standard_normal(truth.shape).astype(np.float32) + one * (2 * truth - 1), truth)
        kept_of = evaluator.per_document(COLUMNS[:labels])
        runs.append(DocumentSums(kept_of, [m for n in asked if computable(m := names.parse_metric(n), kept_of)]))
    for name, found in compare_documents(runs[:1], runs[1:], resamples=resamples, seed=seed).items():
        assert found.low <= found.gain <= found.high, name
        assert 0 < found.folds <= 1


def test_macro_f1_is_tested_over_labels() -> None:
    first, second = kept(2, 1.2), kept(3)

    def by_label(documents: PerDocument) -> np.ndarray:
        chosen, truth = documents.predicted["macro"].toarray(), documents.truth.toarray()
        return 2 * (chosen * truth).sum(0) / np.maximum(1, chosen.sum(0) + truth.sum(0))

    found = compare_documents([sums(first)], [sums(second)], resamples=20)["Macro-F1@macro"]
    assert found.gain == pytest.approx(by_label(first).mean() - by_label(second).mean())
    assert found.wilcoxon == pytest.approx(wilcoxon(by_label(first) - by_label(second), method="approx").pvalue)


def test_another_order_of_sums_changes_no_rank() -> None:
    class Values:
        def __init__(self, values: np.ndarray) -> None:
            self.values = values

        def per_unit(self, metric: Any) -> np.ndarray:
            return self.values

    steps = np.random.default_rng(0).integers(-3, 5, size=200) / 7
    noise = np.random.default_rng(1).uniform(-1e-15, 1e-15, size=200)
    metric, none = names.parse_metric("P@1"), Values(np.zeros(200))
    exact, moved = (resampling._wilcoxon([Values(values)], [none], metric) for values in (steps, steps + noise))  # type: ignore[list-item]
    assert exact == moved == pytest.approx(wilcoxon(np.rint(steps * 7), method="approx").pvalue)


def test_ten_parts_of_the_documents_written_out() -> None:
    first, second, asked = kept(2, 1.2), kept(3, 1.0), ["P@1", "Micro-F1@micro"]
    found = compare_documents([sums(first, asked)], [sums(second, asked)], resamples=3, seed=7)
    generator = np.random.default_rng(7)
    generator.multinomial(NUMBER, np.full(NUMBER, 1 / NUMBER), size=3)
    generator.integers(0, 2, size=(3, NUMBER))
    part = generator.permutation(NUMBER) % 10
    (ours, truth), (theirs, _) = drawn(2, 1.2), drawn(3, 1.0)
    differences = []
    for number in range(10):
        rows = part == number
        one, other = (evaluated(s[rows], truth[rows], asked, OUTSIDE[rows]).compute() for s in (ours, theirs))
        differences.append([one[name] - other[name] for name in asked])
    for column, name in enumerate(asked):
        rounded = np.rint(np.array(differences)[:, column] * 1e9)
        assert found[name].folds == pytest.approx(wilcoxon(rounded, method="auto").pvalue), name


def test_few_differences_have_the_p_of_scipy_with_and_without_equal_ones() -> None:
    generator = np.random.default_rng(0)
    for steps in (2, 4, 1000):
        for _ in range(4):
            difference = generator.integers(-steps, steps + 1, 7).astype(float)
            expected = wilcoxon(difference, method="auto").pvalue if difference.any() else 1.0
            assert resampling._signed_rank_of_few(difference / 1000) == pytest.approx(expected, abs=1e-12)


def test_a_system_against_itself() -> None:
    for name, comparison in compare_documents([sums(kept(2))] * 3, [sums(kept(2))] * 3, resamples=20).items():
        assert (comparison.gain, comparison.low, comparison.high) == (0.0, 0.0, 0.0)
        assert comparison.randomisation == (None if name.startswith("AUC") else 1.0)
        assert comparison.wilcoxon in (None, 1.0)
        assert comparison.folds == 1.0
        assert comparison.verdict == NO_DIFFERENCE


def test_a_far_better_system_is_found_and_the_other_way_round() -> None:
    good, bad = ([sums(kept(seed, quality)) for seed in (2, 3, 4)] for quality in (3.0, 0.2))
    better, worse = compare_documents(good, bad, resamples=200), compare_documents(bad, good, resamples=200)
    for name in ("P@5", "MAP", "PSP@5", "Micro-F1@micro", "Macro-F1@macro", "Macro-F1-caml@macro"):
        assert (better[name].verdict, worse[name].verdict) == (BETTER, WORSE)
        assert better[name].low > 0
        assert worse[name].high < 0
        assert better[name].gain == pytest.approx(-worse[name].gain)


def test_a_gain_is_the_mean_of_what_pairs_of_seeds_gain() -> None:
    runs, baseline = ([sums(kept(seed, 1.5)) for seed in seeds] for seeds in ((2, 3, 4), (5, 6, 7)))
    found = compare_documents(runs, baseline, resamples=20)
    ones = np.ones(NUMBER)
    expected = np.mean([values(runs[seed], ones) - values(baseline[seed], ones) for seed in range(3)], axis=0)
    assert [comparison.gain for comparison in found.values()] == pytest.approx(expected[0].tolist())
    assert {comparison.seeds for comparison in found.values()} == {3}
    with pytest.raises(ValueError, match="zip"):
        compare_documents(runs, baseline[:2], resamples=20)


def test_systems_one_after_another_gain_their_mean_in_each_seed() -> None:
    """Two systems that differ by as much in every seed, one up and one down, gain nothing and have no interval."""
    good, bad = ([sums(kept(seed, quality), ["P@5"]) for seed in (2, 3, 4)] for quality in (1.5, 0.5))
    found = compare_documents([*good, *bad], [*bad, *good], seeds=3, resamples=50)["P@5"]
    assert (found.gain, found.seeds) == (pytest.approx(0.0), 3)
    assert (found.low, found.high) == pytest.approx((0.0, 0.0))


def test_every_seed_takes_part_in_the_randomisation() -> None:
    """One seed that lost beside two that won: the mean decides, not what the first seed gained."""
    lost, won, other = (sums(kept(*drawn_as), ["P@1"]) for drawn_as in ((2, -1.0), (3, 3.0), (5, 0.5)))
    ones = np.ones(NUMBER)
    assert values(lost, ones) < values(other, ones) < values(won, ones)
    found = compare_documents([lost, won, won], [other] * 3, resamples=200)["P@1"]
    again = compare_documents([won, lost, won], [other] * 3, resamples=200)["P@1"]
    alone = compare_documents([lost], [other], resamples=200)["P@1"]
    assert found.randomisation == again.randomisation != alone.randomisation
    assert (found.verdict, alone.verdict) == (NO_DIFFERENCE, TOO_FEW)  # seeds differ too much; one seed says nothing


def test_blocks_do_not_change_the_number_of_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("plant_plugin.evaluation.resampling.BLOCK_ELEMENTS", 3 * NUMBER)
    found = compare_documents([sums(kept(2))], [sums(kept(3))], resamples=10)["P@5"]
    assert found.low <= found.gain <= found.high
    assert (found.randomisation * 11) == pytest.approx(round(found.randomisation * 11))


def test_how_many_are_computed_at_a_time_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for elements in (resampling.PART_ELEMENTS, 5 * LABELS):
        monkeypatch.setattr(resampling, "PART_ELEMENTS", elements)
        found.append(compare_documents([sums(kept(2))], [sums(kept(3))], resamples=12))
    for name, comparison in found[0].items():
        again = found[1][name]
        assert [again.low, again.high] == pytest.approx([comparison.low, comparison.high], abs=1e-12)
        assert again.randomisation == comparison.randomisation


def test_a_baseline_that_was_resampled_before_gives_what_a_new_one_gives() -> None:
    baseline = [sums(kept(3))]
    first = compare_documents([sums(kept(2))], baseline, resamples=20)
    compare_documents([sums(kept(4))], baseline, resamples=20, seed=1)
    assert compare_documents([sums(kept(2))], baseline, resamples=20) == first
