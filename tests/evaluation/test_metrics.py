from __future__ import annotations

import json
import math
from pathlib import Path

import literal_metrics as literal
import numpy as np
import pytest
import scipy.sparse as sp

from plant_plugin.errors import ConfigError, DataError, PlantError
from plant_plugin.evaluation import names, propensity
from plant_plugin.evaluation.metrics import Evaluator

DOCUMENTS, LABELS = 37, 23


def split(seed: int, *, levels: int | None = None, unscored: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Scores and truth with empty documents, labels without a positive, one always true; ``levels`` makes ties."""
    rng = np.random.default_rng(seed)
    truth = (rng.random((DOCUMENTS, LABELS)) < rng.random(LABELS) * 0.3).astype(np.float32)
    truth[:, 3] = truth[:, 11] = 0
    truth[[0, 20]] = 0
    scores = (rng.standard_normal(truth.shape) + truth).astype(np.float32)
    if levels:
        scores = np.round(scores * levels).astype(np.float32) / levels
    scores[rng.random(scores.shape) < unscored] = -np.inf
    return scores, truth


def training_counts() -> np.ndarray:
    return np.array([0, 0, 1, 3, 5, 6, 10, 11, 50, 51, 100, 101, 500, 501, 800, *range(2, 10)])


def evaluate(scores, truth, batch: int = 1000, metrics=None, **settings) -> dict[str, float]:
    settings = {"train_label_counts": training_counts(), "num_train": 1000, **settings}
    evaluator = Evaluator(truth.shape[1], metrics=metrics, **settings)
    for start in range(0, truth.shape[0], batch):
        evaluator.update(scores[start : start + batch], truth[start : start + batch])
    return evaluator.compute()


@pytest.fixture
def no_xclib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(propensity, "xclib_metrics", lambda: None)


@pytest.mark.parametrize("levels", [None, 1, 3])
@pytest.mark.parametrize("unscored", [0.0, 0.6])
@pytest.mark.parametrize("backend", ["builtin", "xclib"])
def test_against_the_definitions(levels, unscored, backend, monkeypatch) -> None:
    if backend == "builtin":
        monkeypatch.setattr(propensity, "xclib_metrics", lambda: None)
    elif propensity.xclib_metrics() is None:
        pytest.skip("pyxclib is not installed")
    scores, truth = split(7, levels=levels, unscored=unscored)
    found = evaluate(scores, truth, thresholds={"0.5": 0.0, "micro": 0.7})
    weights = propensity.inverse_propensities(training_counts(), 1000)
    for k in names.RANKS:
        for family, value in literal.ranked(scores, truth, k).items():
            assert found[f"{family}@{k}"] == pytest.approx(value, abs=1e-9), (family, k)
        for family, value in literal.propensity_scored(scores, truth, weights, k).items():
            assert found[f"{family}@{k}"] == pytest.approx(value, abs=1e-6), (family, k)  # pyxclib's nDCG is float32
    for name, threshold in (("0.5", 0.0), ("micro", 0.7)):
        for family, value in literal.classified(scores, truth, threshold).items():
            assert found[f"{family}@{name}"] == pytest.approx(value, abs=1e-12), (family, name)
    assert found["MAP"] == pytest.approx(literal.mean_average_precision(scores, truth), abs=1e-12)
    assert found["AUC-micro"] == pytest.approx(literal.area(scores.ravel(), truth.ravel()), abs=1e-12)
    assert found["AUC-macro"] == pytest.approx(literal.macro_area(scores, truth), abs=1e-12)


def test_bins_by_training_count() -> None:
    scores, truth = split(1)
    counts = training_counts()
    found = evaluate(scores, truth, metrics=[f"Macro-F1:{b}" for b in names.BINS] + ["AUC-macro:0", "Macro-P@0.5:1-5"])
    members = {"0": 2, "1-5": 7, "6-10": 6, "11-50": 2, "51-100": 2, "101-500": 2, ">500": 2}
    for name, (low, high) in names.BINS.items():
        columns = (counts >= low) & (counts <= (math.inf if high is None else high))
        assert columns.sum() == members[name]
        assert found[f"Macro-F1:{name}"] == pytest.approx(
            literal.classified(scores[:, columns], truth[:, columns], 0.0)["Macro-F1"]
        )
    assert found["AUC-macro:0"] == pytest.approx(literal.macro_area(scores[:, :2], truth[:, :2]))
    in_bin = (counts >= 1) & (counts <= 5)
    assert found["Macro-P@0.5:1-5"] == literal.classified(scores[:, in_bin], truth[:, in_bin], 0.0)["Macro-P"]


def test_three_macro_f1_by_hand() -> None:
    """Label a: TP 1, FP 1 (P 1/2, R 1, F1 2/3); b: TP 1, FN 1 (P 1, R 1/2, F1 2/3); c: only a false alarm."""
    truth = np.array([[1, 1, 0], [0, 1, 0]])
    scores = np.array([[2.0, 2.0, -1.0], [2.0, -1.0, 2.0]])
    found = evaluate(scores, truth, train_label_counts=None)
    assert found["Macro-F1@0.5"] == pytest.approx(4 / 9)  # LibMultiLabel: c counts 0
    assert found["Macro-F1-present@0.5"] == pytest.approx(2 / 3)  # Edin et al.: c does not count
    assert found["Macro-F1-caml@0.5"] == pytest.approx(1 / 2)  # CAML: mean P 1/2, mean R 1/2
    assert found["Micro-F1@0.5"] == pytest.approx(2 * 2 / (2 * 2 + 2 + 1))


def test_one_prediction_and_one_hit_is_everything() -> None:
    found = evaluate(np.array([[1.0, -1.0]]), np.array([[1, 0]]), train_label_counts=None)
    assert [found[f"Micro-{of}@0.5"] for of in ("P", "R", "F1")] == [1.0, 1.0, 1.0]
    assert [found[f"Macro-{of}@0.5"] for of in ("P", "R", "F1", "F1-present")] == [0.5, 0.5, 0.5, 1.0]


def test_ranking_by_hand() -> None:
    """One document, truth {0, 2, 3}, order 2, 1, 0: hits at ranks 1 and 3. A second document without labels."""
    scores = np.array([[0.3, 0.6, 0.9, 0.1], [0.3, 0.6, 0.9, 0.1]])
    found = evaluate(scores, np.array([[1, 0, 1, 1], [0, 0, 0, 0]]), train_label_counts=None)
    assert found["P@3"] == pytest.approx(2 / 3 / 2)
    assert found["R@3"] == pytest.approx(2 / 3 / 2)
    assert found["P@1"] == pytest.approx(1 / 2)
    assert found["R@1"] == pytest.approx(1 / 3 / 2)
    assert found["RP@1"] == pytest.approx(1 / 2)
    assert found["nDCG@3"] == pytest.approx((1 + 1 / 2) / (1 + 1 / math.log2(3) + 1 / 2) / 2)
    assert found["MAP"] == pytest.approx((1 + 2 / 3 + 3 / 4) / 3)  # labelled documents only


def test_labels_outside_the_set_count_in_the_denominator() -> None:
    """As above with one more true label, unknown; a document whose labels are all unknown; one without any."""
    scores = np.tile([0.3, 0.6, 0.9, 0.1], (3, 1))
    truth = np.array([[1, 0, 1, 1], [0, 0, 0, 0], [0, 0, 0, 0]])
    found = evaluate(scores, truth, train_label_counts=None, outside=[1, 2, 0])
    assert found["MAP-gold"] == pytest.approx((1 + 2 / 3 + 3 / 4) / 4 / 2)
    everything = evaluate(scores, truth, train_label_counts=None, outside=[0, 0, 0])
    assert everything["MAP-gold"] == everything["MAP"]
    nothing = evaluate(scores, 0 * truth, metrics=["MAP-gold"], train_label_counts=None, outside=[0, 0, 0])
    assert math.isnan(nothing["MAP-gold"])


def codes() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores without ties, true labels, and true labels outside the set."""
    rng = np.random.default_rng(28)
    scores = rng.permuted(np.tile(np.arange(12), (9, 1)), axis=1).astype(np.float32)
    truth = rng.random((9, 12)) < 0.25
    truth[[2, 5]] = False
    return scores, truth, np.array([0, 3, 2, 0, 1, 0, 0, 7, 2])


# pytrec_eval-terrier 0.5.11 on the same: `trec_eval_map(*codes())` below, as float(np.mean(list(found.values())))
TREC_EVAL_MAP = 0.23717432259098928


def trec_eval_map(scores: np.ndarray, truth: np.ndarray, outside: np.ndarray) -> dict[str, float]:
    """``map`` of trec_eval for each document with a true label."""
    pytrec_eval = pytest.importorskip("pytrec_eval", reason="pytrec-eval-terrier is not installed")
    run = {str(number): {f"l{label}": float(score) for label, score in enumerate(row)}
           for number, row in enumerate(scores)}  # fmt: skip
    gold = {
        str(number): {**{f"l{label}": 1 for label in np.flatnonzero(row)}, **{f"u{n}": 1 for n in range(more)}}
        for number, (row, more) in enumerate(zip(truth, outside, strict=True))
    }
    evaluator = pytrec_eval.RelevanceEvaluator({number: labels for number, labels in gold.items() if labels}, {"map"})
    return {number: values["map"] for number, values in evaluator.evaluate(run).items()}


@pytest.mark.parametrize("batch", [1, 4, 9])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_map_of_trec_eval(batch: int, form) -> None:
    scores, truth, outside = codes()
    order = np.array([4, 0, 8, 2, 6, 1, 3, 5, 7])
    evaluator = Evaluator(12, metrics=["MAP-gold"], outside=outside)
    for start in range(0, 9, batch):
        part = order[start : start + batch]
        evaluator.update(form(scores[part] + 1), truth[part], part)
    assert evaluator.compute()["MAP-gold"] == pytest.approx(TREC_EVAL_MAP, abs=1e-12)


def test_map_of_trec_eval_where_it_is_installed() -> None:
    found = trec_eval_map(*codes())
    assert np.mean(list(found.values())) == pytest.approx(TREC_EVAL_MAP, abs=1e-12)


def test_propensity_by_hand() -> None:
    """N = e² documents would make ln N - 1 = 1; with A = 1, B = 1 then C = 2 and q = 1 + 2 / (N_l + 1)."""
    counts = np.array([0, 1, 3])
    assert propensity.inverse_propensities(counts, math.e**2, 1.0, 1.0) == pytest.approx([3.0, 2.0, 1.5])


@pytest.mark.parametrize(("num_train", "b"), [(0, 1.5), (10, 0.0), (10, -1.0)])
def test_undefined_propensities_are_refused(num_train: int, b: float) -> None:
    with pytest.raises(ConfigError, match="propensities are undefined"):
        propensity.inverse_propensities([1], num_train, 0.55, b)


@pytest.mark.parametrize("levels", [None, 2])
def test_order_of_documents_and_batch_size_do_not_matter(levels) -> None:
    scores, truth = split(3, levels=levels)
    whole = evaluate(scores, truth)
    order = np.random.default_rng(0).permutation(DOCUMENTS)
    for batch in (1, 5, DOCUMENTS):
        assert evaluate(scores[order], truth[order], batch) == pytest.approx(whole, abs=1e-7)


def test_shifting_all_scores_changes_no_ranking() -> None:
    scores, truth = split(4, levels=4)
    ranked = [f"{family}@{k}" for family in names.RANKED for k in (1, 5)] + ["MAP", "AUC-micro", "AUC-macro"]
    before, after = (evaluate(s, truth, metrics=ranked) for s in (scores, scores - 8))
    assert before == after


def test_equal_scores_are_ranked_by_lower_label_id() -> None:
    truth = np.zeros((2, 6))
    truth[0, 2] = truth[1, 5] = 1
    found = evaluate(np.ones((2, 6)), truth, train_label_counts=None)
    assert (found["P@1"], found["R@3"], found["R@5"]) == (0, 0.5, 0.5)
    assert found["MAP"] == pytest.approx((1 / 3 + 1 / 6) / 2)
    assert found["AUC-micro"] == found["AUC-macro"] == 0.5


def test_label_that_was_not_scored_is_neither_hit_nor_predicted() -> None:
    scores = np.array([[1.0, -np.inf, -np.inf, 0.5]], dtype=np.float32)
    found = evaluate(scores, np.array([[0, 1, 1, 0]]), train_label_counts=None, thresholds={"0.5": -np.inf})
    assert found["R@3"] == found["MAP"] == found["Micro-F1@0.5"] == 0.0
    assert found["AUC-micro"] == 0.0


@pytest.mark.parametrize("batch", [4, 1000])
def test_sparse_scores_are_scores_of_the_stored_labels_only(batch) -> None:
    scores, truth = split(5, levels=2, unscored=0.7)
    scores[4] = -np.inf  # a document for which nothing was scored
    rows, columns = np.nonzero(~np.isneginf(scores))
    sparse = sp.csr_matrix((scores[rows, columns], (rows, columns)), shape=scores.shape)  # holds stored zeros
    assert (sparse.data == 0).any()
    asked = [f"{family}@{k}" for family in names.RANKED for k in names.RANKS]
    asked += [*names.CLASSIFIED, "MAP", "AUC-macro", "AUC-micro"]
    assert evaluate(sparse, sp.csr_matrix(truth), batch, asked) == evaluate(scores, truth, batch, asked)
    assert evaluate(sparse, truth, batch, ["P@1", "P@2"]) == evaluate(scores, truth, batch, ["P@1", "P@2"])
    assert "AUC-macro" not in evaluate(sparse, truth)


def test_truth_with_duplicates_zeros_and_other_types() -> None:
    scores, truth = split(6)
    rows, columns = np.nonzero(truth)
    untidy = sp.coo_matrix(
        (np.append(np.full(2 * len(rows), 3), 0), (np.append(np.tile(rows, 2), 0), np.append(np.tile(columns, 2), 0))),
        shape=truth.shape,
    ).tocsr()
    before = untidy.copy()
    assert evaluate(scores, untidy) == evaluate(scores.astype(np.float64), truth.astype(bool))
    assert (untidy != before).nnz == 0  # the caller's matrix is untouched


def test_names_are_kept_as_typed_and_libmultilabels_mean_one_half() -> None:
    scores, truth = split(8)
    asked = ["Another-Macro-F1", "NDCG@5", "Micro-Precision", "Macro-F1"]
    found = evaluate(scores, truth, metrics=asked)
    assert list(found) == asked
    exact = evaluate(scores, truth)
    assert found["Another-Macro-F1"] == exact["Macro-F1-caml@0.5"]
    assert found["NDCG@5"] == exact["nDCG@5"]
    assert found["Micro-Precision"] == exact["Micro-P@0.5"]


def test_default_is_every_metric_that_can_be_computed() -> None:
    scores, truth = split(9)
    found = evaluate(scores, truth, thresholds={"0.5": 0.0, "micro": 0.1, "macro": 0.2})
    for family in names.RANKED:
        assert {f"{family}@{k}" for k in (1, 3, 5, 8, 10, 15)} <= set(found)
    for t in ("0.5", "micro", "macro"):
        assert {f"{family}@{t}" for family in names.CLASSIFIED} <= set(found)
        assert {f"Macro-F1{v}@{t}:{b}" for v in ("", "-present", "-caml") for b in names.BINS} <= set(found)
    assert {"MAP", "AUC-macro", "AUC-micro"} <= set(found)
    assert "Loss" not in found
    assert "MAP-gold" not in found
    assert "MAP-gold" in evaluate(scores, truth, outside=np.zeros(DOCUMENTS, dtype=int))
    without = evaluate(scores, truth, train_label_counts=None)
    assert not any(name.startswith("PS") or ":" in name for name in without)
    assert not any(name.startswith("PS") for name in evaluate(scores, truth, num_train=None))
    assert "P@5" in evaluate(scores[:, :5], truth[:, :5], train_label_counts=None)
    assert "P@8" not in evaluate(scores[:, :7], truth[:, :7], train_label_counts=None)


def test_undefined_values_are_left_out_or_nan_when_named() -> None:
    scores, truth = split(10)
    counts = np.full(LABELS, 7)
    found = evaluate(scores, np.zeros_like(truth), train_label_counts=counts)
    assert not any(math.isnan(value) for value in found.values())
    assert "Macro-F1@0.5:0" not in found
    assert "AUC-macro" not in found
    assert "Macro-F1-present@0.5" not in found
    assert "MAP" not in found
    assert found["PSP@5"] == found["R@5"] == 0.0
    named = evaluate(scores, np.zeros_like(truth), metrics=["Macro-F1:0", "AUC-macro"], train_label_counts=counts)
    assert all(math.isnan(value) for value in named.values())


def test_counts() -> None:
    scores, truth = split(11)
    truth[:, 5] = 1  # one class only: no ROC curve
    evaluator = Evaluator(LABELS, metrics=["P@1"])
    evaluator.update(scores[:10], truth[:10])
    evaluator.update(scores[10:], truth[10:])
    present = truth.any(axis=0)
    assert evaluator.counts == {
        "documents": DOCUMENTS,
        "labels": LABELS,
        "labels_present": int(present.sum()),
        "documents_without_labels": int((~truth.any(axis=1)).sum()),
        "auc_labels": int(present.sum()) - 1,
    }


def test_loss_is_a_mean_over_documents() -> None:
    scores, truth = split(12)
    evaluator = Evaluator(LABELS, metrics=["Loss"])
    evaluator.update(scores[:10], truth[:10], loss=1.0)
    evaluator.update(scores[10:13], truth[10:13], loss=2.0)
    assert evaluator.compute() == {"Loss": pytest.approx(16 / 13)}
    silent = Evaluator(LABELS, metrics=["Loss"])
    silent.update(scores, truth)
    with pytest.raises(ConfigError, match="without a loss"):
        silent.compute()


def test_all_problems_with_metrics_are_told_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        Evaluator(4, metrics=["P@5", "Macro-F1@micro", "PSP@1", "Macro-F1:0", "P@4", "MAP-gold"])
    assert [problem.what.split(":")[0] for problem in caught.value.problems] == [
        "P@5",
        "Macro-F1@micro",
        "PSP@1",
        "Macro-F1",
        "MAP-gold",
    ]
    assert "more than there are labels: 4" in str(caught.value)


def test_unknown_metric() -> None:
    with pytest.raises(ConfigError, match=r"P@1junk.*"):
        Evaluator(4, metrics=["P@1junk"])


def test_no_documents() -> None:
    evaluator = Evaluator(4)
    evaluator.update(np.zeros((0, 4)), np.zeros((0, 4)))
    with pytest.raises(DataError, match="no documents"):
        evaluator.compute()


def test_scores_that_are_not_numbers() -> None:
    scores = np.zeros((2, 3))
    scores[1, 1] = np.nan
    for given in (scores, sp.csr_matrix(scores)):
        with pytest.raises(PlantError, match="NaN"):
            Evaluator(3).update(given, np.zeros((2, 3)))


def test_shapes_that_do_not_fit() -> None:
    with pytest.raises(ValueError, match="scores have shape"):
        Evaluator(3).update(np.zeros((2, 4)), np.zeros((2, 3)))
    with pytest.raises(ValueError, match="truth has 4 labels"):
        Evaluator(3).update(np.zeros((2, 4)), np.zeros((2, 4)))
    with pytest.raises(ValueError, match="train_label_counts"):
        Evaluator(3, train_label_counts=[1, 2])


def test_backend_says_who_computed(no_xclib: None) -> None:
    assert Evaluator(3).backend == "builtin"


def test_xclib_backend_is_named_where_it_is_installed() -> None:
    if propensity.xclib_metrics() is None:
        pytest.skip("pyxclib is not installed")
    assert Evaluator(3).backend == "xclib"


@pytest.mark.integration
@pytest.mark.parametrize("backend", ["builtin", "xclib"])
@pytest.mark.parametrize("logits", [False, True])
@pytest.mark.parametrize("case", ["small", "wide"])
def test_reference_values(case: str, logits: bool, backend: str, shared: Path, monkeypatch) -> None:
    if backend == "builtin":
        monkeypatch.setattr(propensity, "xclib_metrics", lambda: None)
    elif propensity.xclib_metrics() is None:
        pytest.skip("pyxclib is not installed")
    golden = json.loads((shared / "golden" / "xc_metrics.json").read_text())[case]
    scores = np.array(golden["scores"])
    truth = np.zeros(scores.shape)
    for document, labels in enumerate(golden["truth"]):
        truth[document, labels] = 1
    half = {"0.5": 0.5}
    if logits:
        scores, half = np.log(scores / (1 - scores)), {"0.5": 0.0}
    data = {"default": (0.55, 1.5), "wikipedia": (0.5, 0.4), "amazon": (0.6, 2.6)}
    xclib, sklearn = golden["xclib"], golden["sklearn"]
    asked = [f"{family}@{k}" for family in names.RANKED for k in range(1, 16)]
    for name, propensities in data.items():
        settings = {"train_label_counts": golden["train_label_counts"], "num_train": golden["n_train"]}
        found = evaluate(scores, truth, 7, asked, propensity=propensities, **settings)
        weights = propensity.inverse_propensities(*settings.values(), *propensities)
        assert weights == pytest.approx(np.array(xclib[f"inv_propensity_{name}"]), abs=1e-6)
        for family, key in (("PSP", "psprecision"), ("PSnDCG", "psndcg"), ("PSR", "psrecall")):
            assert [found[f"{family}@{k}"] for k in range(1, 16)] == pytest.approx(xclib[f"{key}_{name}"], abs=1e-6)
        for family, key in (("P", "precision"), ("nDCG", "ndcg"), ("R", "recall")):
            assert [found[f"{family}@{k}"] for k in range(1, 16)] == pytest.approx(xclib[key], abs=1e-6)
    found = evaluate(scores, truth, 7, thresholds=half, train_label_counts=None)
    for name, key in {
        "Micro-F1@0.5": "micro_f1@0.5",
        "Macro-F1@0.5": "macro_f1_all@0.5",
        "Macro-F1-present@0.5": "macro_f1_present@0.5",
        "Macro-F1-caml@0.5": "macro_f1_caml@0.5",
        "Macro-P@0.5": "macro_precision_all@0.5",
        "Macro-R@0.5": "macro_recall_all@0.5",
        "AUC-macro": "macro_auc_labels_with_both_classes",
        "AUC-micro": "micro_auc",
    }.items():
        assert found[name] == pytest.approx(sklearn[key], abs=1e-6), name


@pytest.mark.parametrize("as_scores", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
def test_removed_labels_are_neither_scored_nor_true(as_scores) -> None:
    """As a filter file has it, whatever the order in which documents come."""
    scores, truth = split(5)
    gone = np.random.default_rng(2).random(truth.shape) < 0.3
    assert truth[gone].any()
    kept = scores.copy(), truth.copy()
    plain = evaluate(as_scores(scores), truth)
    order = np.random.default_rng(3).permutation(DOCUMENTS)
    settings = {"train_label_counts": training_counts(), "num_train": 1000}
    evaluator = Evaluator(LABELS, removed=sp.csr_matrix(gone.astype(np.float32)), keep_documents=True, **settings)
    for rows in np.array_split(order, 4):
        evaluator.update(as_scores(scores[rows]), truth[rows], rows)
    found = evaluator.compute()
    np.testing.assert_array_equal(scores, kept[0])  # what was handed over stays
    np.testing.assert_array_equal(truth, kept[1])
    np.testing.assert_array_equal(
        evaluator.per_document(list("abcdefghijklmnopqrstuvw")).truth.toarray(), truth * ~gone
    )
    scores[gone] = -np.inf
    expected = evaluate(as_scores(scores), truth * ~gone)
    expected = {name: value for name, value in expected.items() if not name.startswith("AUC")}
    assert found == pytest.approx(expected)
    with pytest.raises(ConfigError, match="AUC-macro: is over all pairs, and a test filter takes some out"):
        Evaluator(LABELS, metrics=["AUC-macro"], removed=sp.csr_matrix(gone.astype(np.float32)))
    assert found["P@5"] != plain["P@5"]
    assert found["PSP@5"] != plain["PSP@5"]
