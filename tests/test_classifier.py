"""The strategies under scikit-learn's interface."""

from __future__ import annotations

import doctest
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_up_task import LABELS, write_splits
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError, SkipTestWarning
from sklearn.metrics import f1_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import estimator_checks

from plant_plugin import PlantClassifier, classifier
from plant_plugin.errors import ConfigError

OPTIONS: dict[str, Any] = {
    "model_name": "PLANT",
    "network_config.encoder": "cnn",
    "network_config.hidden_size": 16,
    "network_config.filter_sizes": [3],
    "network_config.embed_dim": 16,
    "network_config.num_heads": 2,
    "network_config.pool_size": 8,
    "network_config.planted_prior": "additive",
    "stage1.k": 10,
    "stage1.labels": 6,
    "stage1.epochs": 1,
    "stage2.epochs": 4,
    "stage2.hard_negatives": 5,
    "learning_rate": 0.01,
    "batch_size": 16,
}


def small(**changes: Any) -> PlantClassifier:
    return PlantClassifier(None, **{"options": OPTIONS, "device": "cpu", "random_state": 1, "val_size": 0.2} | changes)


def read(folder: Path, name: str) -> tuple[list[str], np.ndarray]:
    texts, rows = [], []
    for line in (folder / f"{name}.txt").read_text().splitlines():
        labels, text = line.split("\t")
        texts.append(text)
        rows.append([f"L{label}" in labels.split() for label in range(LABELS)])
    return texts, np.array(rows, dtype=int)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[list[str], np.ndarray]]:
    folder = tmp_path_factory.mktemp("data")
    write_splits(folder)
    return {name: read(folder, name) for name in ("train", "test")}


@pytest.fixture(scope="module")
def fitted(data: Any) -> PlantClassifier:
    return small().fit(*data["train"])


def test_it_learns_and_its_columns_are_those_given(fitted: PlantClassifier, data: Any) -> None:
    texts, truth = data["test"]
    predicted = fitted.predict(texts)
    assert predicted.shape == truth.shape
    assert set(np.unique(predicted)) <= {0, 1}
    assert f1_score(truth, predicted, average="micro") > 0.8
    assert fitted.predict_proba(["sign11x"]).argmax() == 11
    assert fitted.predict_proba(["sign2x"]).argmax() == 2
    assert fitted.classes_.tolist() == list(range(LABELS))
    probabilities = fitted.predict_proba(texts)
    np.testing.assert_allclose(np.log(probabilities / (1 - probabilities)), fitted.decision_function(texts), atol=1e-4)
    assert 0 <= fitted.score(texts, truth) <= 1


def test_threshold_can_be_changed_after_fitting(fitted: PlantClassifier, data: Any) -> None:
    texts, _ = data["test"]
    strict = clone(fitted)
    strict.__dict__.update(fitted.__dict__)
    strict.set_params(threshold=0.999)
    assert strict.predict(texts).sum() < fitted.predict(texts).sum()


def test_labels_have_names_which_explanations_say(data: Any) -> None:
    texts, labels = data["train"]
    names = [f"code {LABELS - column}" for column in range(LABELS)]  # whose alphabet is another order
    named = small(labels=names, options={**OPTIONS, "strategy": "planted_scores", "planted_scores.model": "ridge"}).fit(
        texts, labels
    )
    assert named.classes_.tolist() == [name.replace(" ", "_") for name in names]
    assert named.predict_proba(["sign11x"]).argmax() == 11
    (explanation,) = named.explain(["sign2x"], top=1)
    assert explanation.labels[0].scored.label == f"code_{LABELS - 2}"
    for wrong in (names[1:], [names[0], *names[:-1]]):
        with pytest.raises(ValueError, match="another name for each of the 12 columns"):
            small(labels=wrong).fit(texts, labels)


def test_it_begins_with_what_plant_train_chooses(data: Any, tmp_path: Path) -> None:
    options = {"strategy": "planted_scores", "planted_scores.names": "none"}
    fitted = PlantClassifier(options=options, device="cpu", random_state=1, result_dir=tmp_path).fit(*data["train"])
    assert fitted.run_folder_ is not None
    assert (fitted.run_folder_ / "settled.yml").read_text().startswith("# libmultilabel --config FILE")


def test_the_example_in_the_docstring(data: Any) -> None:
    texts, labels = data["train"]
    extra = {"options": {**OPTIONS, "stage2.epochs": 1}, "texts": texts, "labels": labels}
    source = {"extraglobs": extra, "verbose": False}
    outcome = doctest.testmod(classifier, **source)  # type: ignore[arg-type]
    assert (outcome.attempted, outcome.failed) == (3, 0)


WITHOUT_DATA = (
    "check_estimator_cloneable", "check_estimator_tags_renamed", "check_valid_tag_types", "check_estimator_repr",
    "check_no_attributes_set_in_init", "check_do_not_raise_errors_in_init_or_set_params",
    "check_parameters_default_constructible", "check_get_params_invariance", "check_set_params",
    "check_mixin_order",
)  # fmt: skip
# Scikit-learn's other checks fit a matrix of numbers. Why each says nothing of a classifier of texts:
NOT_FOR_TEXTS = {
    "a matrix's kind, form or number type, which texts do not have": (
        "check_array_api_input", "check_classifier_data_not_an_array", "check_complex_data", "check_dtype_object",
        "check_estimator_sparse_array", "check_estimator_sparse_matrix", "check_estimator_sparse_tag",
        "check_estimators_dtypes", "check_f_contiguous_array_estimator", "check_readonly_memmap_input",
        "check_fit1d", "check_fit2d_1feature", "check_fit2d_1sample", "check_fit2d_predict1d",
        "check_n_features_in", "check_n_features_in_after_fitting", "check_estimators_partial_fit_n_features",
    ),
    "values that a text cannot have: infinite, missing, negative": (
        "check_estimators_nan_inf", "check_positive_only_tag_during_fit",
    ),
    "one class a document, where labels are an indicator of several": (
        "check_classifier_not_supporting_multiclass", "check_classifiers_classes", "check_classifiers_one_label",
        "check_classifiers_one_label_sample_weights", "check_classifiers_regression_target", "check_classifiers_train",
        "check_decision_proba_consistency", "check_fit_score_takes_y", "check_supervised_y_no_nan",
    ),
    "an attribute `n_iter_`, which it does not have": ("check_non_transformer_estimators_n_iter",),
    "the same on texts is tested in this file": (
        "check_classifier_multioutput", "check_classifiers_multilabel_output_format_decision_function",
        "check_classifiers_multilabel_output_format_predict",
        "check_classifiers_multilabel_output_format_predict_proba",
        "check_classifiers_multilabel_representation_invariance", "check_dict_unchanged",
        "check_dont_overwrite_parameters", "check_estimators_empty_data_messages", "check_estimators_fit_returns_self",
        "check_estimators_overwrite_params", "check_estimators_pickle", "check_estimators_unfitted",
        "check_fit_check_is_fitted", "check_fit_idempotent", "check_methods_sample_order_invariance",
        "check_methods_subset_invariance", "check_pipeline_consistency", "check_requires_y_none",
    ),
}  # fmt: skip


class OfNumbers(PlantClassifier):
    """The same with tags that say it takes numbers, so that scikit-learn names all its checks of such a classifier."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array, tags.input_tags.string = True, False
        return tags


def test_what_scikit_learn_asks_of_every_estimator() -> None:
    """Its checks that give no data; those that do give numbers, where texts are wanted."""
    name, estimator = "PlantClassifier", PlantClassifier()
    assert is_classifier(estimator)
    for check in WITHOUT_DATA:
        getattr(estimator_checks, check)(name, clone(estimator))


def test_no_check_of_scikit_learn_is_passed_over_unseen() -> None:
    """A new scikit-learn with a new check: let it run above, or say why it is not for texts."""
    asked = estimator_checks.estimator_checks_generator(OfNumbers())
    names = {getattr(check, "func", check).__name__ for _, check in asked}
    reasoned = [check for checks in NOT_FOR_TEXTS.values() for check in checks]
    assert len(reasoned) == len(set(reasoned) - set(WITHOUT_DATA))
    assert set(WITHOUT_DATA) <= names
    assert names - set(WITHOUT_DATA) - set(reasoned) == set()


def test_what_scikit_learn_chooses_to_check_of_a_classifier_of_texts() -> None:
    """Its own choice: of the checks that give data it runs none where texts are wanted, and says so."""
    with pytest.warns(SkipTestWarning, match="requires input"):
        told = estimator_checks.check_estimator(PlantClassifier(), on_fail=None)
    assert {one["status"] for one in told} == {"passed"}


def test_fitting_in_a_pipeline_keeps_its_parameters_and_repeats(fitted: PlantClassifier, data: Any) -> None:
    texts, truth = data["train"]
    estimator = small()
    before = estimator.get_params()
    pipeline = make_pipeline(FunctionTransformer(), estimator)
    assert pipeline.fit(texts, sparse.csr_matrix(truth))[-1] is estimator
    np.testing.assert_array_equal(pipeline.decision_function(texts[:5]), estimator.decision_function(texts[:5]))
    assert estimator.get_params() == before
    quick = small(options={**OPTIONS, "stage2.epochs": 1})
    assert quick.fit(texts, truth) is quick
    np.testing.assert_allclose(estimator.decision_function(texts[:5]), fitted.decision_function(texts[:5]), atol=1e-5)
    assert estimator.run_folder_ is None


def test_neither_order_nor_neighbours_change_a_document(fitted: PlantClassifier, data: Any) -> None:
    texts = data["test"][0]
    together = fitted.decision_function(texts)
    np.testing.assert_allclose(fitted.decision_function(texts[::-1])[::-1], together, atol=1e-5)
    np.testing.assert_allclose(fitted.decision_function(texts[3:4]), together[3:4], atol=1e-5)
    np.testing.assert_allclose(
        fitted.decision_function(["sign1x\n\tsign2x"]), fitted.decision_function(["sign1x sign2x"])
    )


def test_pickled_and_explained(fitted: PlantClassifier, data: Any) -> None:
    texts = data["test"][0]
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_allclose(again.predict_proba(texts), fitted.predict_proba(texts))
    explanation = again.predictor_.explain("filler1 sign3x", top=1)
    assert explanation.labels[0].relevance is not None


def test_not_fitted() -> None:
    for method in ("predict", "predict_proba", "decision_function"):
        with pytest.raises(NotFittedError):
            getattr(PlantClassifier(), method)(["a"])


@pytest.mark.parametrize(
    ("texts", "labels", "message"),
    [
        ("one string", np.eye(2), "one string was given"),
        ([], np.zeros((0, 2)), "no texts"),
        (["a", "b"], None, "array-like"),
        ([1, 2], np.eye(2), "the texts have to be strings"),
        (["a", "b"], [0, 1], "has to be an indicator"),
        (["a", "b"], [["x"], ["y"]], "has to be an indicator"),
        (["a", "b", "c"], np.eye(2), "inconsistent numbers"),
        (["a", "b"], 2 * np.eye(2) - 1, "only zeros and ones"),
    ],
)
def test_what_cannot_be_fitted(texts: Any, labels: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        small().fit(texts, labels)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ("ab", "one string was given where a sequence of labels is wanted"),
        ([1, 2], "the labels have to be strings"),
        (["a", "b", "b"], "another name for each of the 2 columns"),
        (["b", "b"], "another name for each of the 2 columns"),
    ],
)
def test_what_names_no_columns(labels: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        small(labels=labels).fit(["a", "b"], np.eye(2))


def test_what_is_stored_as_zero_is_no_label(data: Any) -> None:
    texts, labels = data["train"]
    everywhere = sparse.csr_array(np.ones_like(labels))
    everywhere.data = labels.ravel()  # an equal matrix, with zeros in it
    plain, stored = (small(options={**OPTIONS, "stage2.epochs": 1}).fit(texts, y) for y in (labels, everywhere))
    np.testing.assert_array_equal(plain.decision_function(texts), stored.decision_function(texts))


@pytest.mark.parametrize("number", [2, 5])
def test_few_labels(data: Any, number: int) -> None:
    texts, labels = data["train"]
    few = small(options={**OPTIONS, "stage2.epochs": 1}).fit(texts, labels[:, :number])
    assert few.predict_proba(texts[:3]).shape == (3, number)


def test_tables_are_no_texts(fitted: PlantClassifier) -> None:
    for table in ({"text": ["a", "b"]}, np.array([["a"], ["b"]])):
        with pytest.raises(ValueError, match="pass its column of texts"):
            fitted.predict(table)  # type: ignore[arg-type]


def test_a_wrong_option_is_told(data: Any) -> None:
    with pytest.raises(ConfigError, match=r"stage2\.epoch"):
        small(options={**OPTIONS, "stage2.epoch": 1}).fit(*data["train"])


def test_the_documents_decide_with_plant_yml(data: Any) -> None:
    small_network = {key: value for key, value in OPTIONS.items() if key.startswith("network_config.")}
    options = {**small_network, "stage1.epochs": 1, "stage2.epochs": 4, "learning_rate": 0.01}
    classifier = small(options=options).set_params(config="plant.yml").fit(*data["train"])
    texts, truth = data["test"]
    assert f1_score(truth, classifier.predict(texts), average="micro") > 0.8
    assert classifier.predictor_.content["max_seq_length"] == 128  # the shortest that the rules choose; nobody said it
    assert classifier.predictor_.planted_scores is not None


@pytest.mark.integration
def test_in_a_grid_search_with_the_packaged_configuration(data: Any, tmp_path: Path) -> None:
    texts, truth = data["train"]
    search = GridSearchCV(
        PlantClassifier(device="cpu", random_state=1, result_dir=tmp_path, options={"stage2.epochs": 1}),
        {"threshold": [0.3, 0.5]},
        scoring="f1_micro",
        cv=2,
    )
    search.fit(texts, truth)
    assert search.best_estimator_.run_folder_.is_dir()
    assert np.isfinite(search.best_score_)


def test_an_explanation_names_the_words_of_what_is_predicted(fitted: PlantClassifier, data: Any) -> None:
    texts = data["test"][0][:3]
    for text, row, explanation in zip(texts, fitted.predict(texts), fitted.explain(texts), strict=True):
        predicted = [int(one.scored.label) for one in explanation.labels if one.predicted]
        assert sorted(predicted) == np.flatnonzero(row).tolist()
        assert explanation.text == text
    (best,) = fitted.explain(texts[:1], top=1)
    (one,) = best.labels
    assert int(one.scored.label) == fitted.decision_function(texts[:1])[0].argmax()
    start, end = best.words[int(one.contribution.argmax())]
    assert best.text[start:end] == f"sign{int(one.scored.label)}x"
