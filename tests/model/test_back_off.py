"""Back-off: when a category is said, how likely it is, and what is written of it."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from scipy.special import logit

from plant_plugin import Predictor
from plant_plugin.cli import plant
from plant_plugin.errors import ConfigError
from plant_plugin.model.back_off import Category, backed_off, codes_open, explained
from plant_plugin.model.hints import hinted
from plant_plugin.model.predictor import Prediction
from plant_plugin.model.scored_label import ScoredLabel

LABELS = "E11.0 E11.9 E11.65 E10.9 I10 S72.001A".split()


class Made:
    """A model with given probabilities."""

    def __init__(self, *probabilities: float, labels: list[str] = LABELS) -> None:
        self.labels, self.probabilities = labels, probabilities

    def check_calibrated(self, where: str) -> None:
        """They are taken for calibrated."""

    def names(self, label: str) -> str | None:
        return {"E11": "type 2 diabetes mellitus", "e11": "small"}.get(label)

    def limit(self, threshold: float | None, top: int | None) -> float:
        return float("-inf") if threshold is None else float(logit(threshold))

    def predict(self, texts: list[str], *, threshold: float) -> list[Prediction]:
        labels = [
            ScoredLabel(label, probability, float(logit(probability)))
            for label, probability in zip(self.labels, self.probabilities, strict=True)
            if probability > threshold
        ]
        return [Prediction(sorted(labels, key=lambda label: -label.probability), 3, False) for _ in texts]


def said(model: Made, threshold: float | None = 0.5, top: int | None = None) -> list[tuple[str, float, list[str]]]:
    [prediction] = backed_off(model, ["text"], threshold, top)  # type: ignore[arg-type]
    return [(label.label, round(label.probability, 6), codes_open(label)) for label in prediction.labels]


def test_a_category_is_the_sum_of_its_codes() -> None:
    assert said(Made(0.2, 0.35, 0.1, 0.4, 0.55, 0.001)) == [
        ("E11", 0.65, ["E11.9", "E11.0", "E11.65"]),
        ("I10", 0.55, []),
    ]


def test_it_is_not_said_beside_one_of_its_codes() -> None:
    assert said(Made(0.4, 0.55, 0.1, 0.4, 0.1, 0.1)) == [("E11.9", 0.55, [])]


def test_one_code_alone_is_no_category_and_unlikely_codes_do_not_add_up() -> None:
    assert said(Made(0.495, 0.009, 0.009, 0.4, 0.3, 0.1)) == []
    assert said(Made(0.495, 0.011, 0.009, 0.4, 0.3, 0.1)) == [("E11", 0.506, ["E11.0", "E11.9"])]


def test_the_sum_is_a_probability() -> None:
    assert said(Made(0.45, 0.49, 0.48, 0.1, 0.1, 0.1)) == [("E11", 0.999999, ["E11.9", "E11.65", "E11.0"])]


def test_the_best_so_many_are_counted_with_categories() -> None:
    assert said(Made(0.2, 0.35, 0.1, 0.4, 0.55, 0.001), top=1) == [("E11", 0.65, ["E11.9", "E11.0", "E11.65"])]


def test_with_a_lower_threshold_than_what_counts_labels_are_those_of_the_model() -> None:
    assert said(Made(0.004, 0.006, 0.003, 0.002, 0.55, 0.001), threshold=0.0055) == [
        ("I10", 0.55, []),
        ("E11.9", 0.006, []),
    ]


def test_it_is_written_and_called_as_the_data_do() -> None:
    labels = [label.lower() for label in LABELS]
    [prediction] = backed_off(Made(0.3, 0.3, 0.1, 0.1, 0.1, 0.1, labels=labels), ["text"], 0.5, None)  # type: ignore[arg-type]
    [label] = prediction.labels
    assert isinstance(label, Category)
    assert (label.label, label.name) == ("e11", "small")


def test_refusals() -> None:
    with pytest.raises(ConfigError, match="no threshold"):
        said(Made(*[0.1] * 6), threshold=None, top=3)
    with pytest.raises(ConfigError, match="the labels are no codes"):
        said(Made(0.1, 0.1, labels=["sport", "politics"]))


def test_probabilities_of_a_model_without_validation_documents_are_not_added_up(untrained: Callable[..., Path]) -> None:
    outcome = predict(untrained())
    assert outcome.exit_code == 2
    assert "--back-off: it adds up probabilities" in outcome.output
    assert "validation documents" in outcome.output


@pytest.fixture
def siblings(coded: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A model of codes of which words tell, "sign1x" E11.9, "sign2x" E10.9; here both are of one category, E1."""
    monkeypatch.setattr("plant_plugin.model.hierarchy._category_of_icd10", lambda code: code[:2])
    return coded


def predict(model: Path, *arguments: str) -> Result:
    given = "filler1 sign1x sign2x filler2\nsign3x\n"
    return CliRunner().invoke(plant, ["predict", str(model), "--device", "cpu", "--back-off", *arguments], input=given)


def between(model: Path) -> float:
    """A threshold above both codes of the first text, and below their sum."""
    predictor = Predictor.load(model, device="cpu")
    [prediction] = predictor.predict(["filler1 sign1x sign2x filler2"], threshold=0.001)
    two = sorted(label.probability for label in prediction.labels if label.label in ("E11.9", "E10.9"))
    return (two[1] + min(1 - 1e-6, sum(two))) / 2


def test_each_form_marks_it(siblings: Path) -> None:
    threshold = str(between(siblings))
    outcome = predict(siblings, "--threshold", threshold)
    assert outcome.exit_code == 0, outcome.output
    first, _ = (json.loads(line)["labels"] for line in outcome.stdout.splitlines())
    [category] = [label for label in first if label["label"] == "E1"]
    assert sorted(category["open"])[:2] == ["E10.9", "E11.9"]
    rows = list(csv.DictReader(io.StringIO(predict(siblings, "--threshold", threshold, "--output", "csv").stdout)))
    assert {row["label"]: row["open"] for row in rows if row["id"] == "1"}["E1"] == " ".join(category["open"])
    outcome = predict(siblings, "--threshold", threshold, "--output", "fhir", "--system", "urn:example:codes")
    resources = [entry["resource"] for entry in json.loads(outcome.stdout.splitlines()[0])["entry"]]
    assert [one["code"]["coding"][0]["code"] for one in resources] == [label["label"] for label in first]
    [one] = [one for one in resources if one["code"]["coding"][0]["code"] == "E1"]
    opened = [each["valueCode"] for each in one["extension"] if each["url"] == "urn:plant-plugin:fhir:open"]
    assert opened == category["open"]
    assert any(each["url"] == "urn:plant-plugin:fhir:evidence" for each in one["extension"])


def test_the_words_of_its_likeliest_code_speak_for_it(siblings: Path) -> None:
    predictor, text = Predictor.load(siblings, device="cpu"), "filler1 sign1x sign2x filler2"
    [prediction] = backed_off(predictor, [text], between(siblings), None)
    [category] = [label for label in prediction.labels if isinstance(label, Category) and label.label == "E1"]
    [evidence] = explained(predictor, text, [category])
    assert evidence.scored is category
    [likeliest] = predictor.explain(text, [category.codes[0].label]).labels
    assert evidence.passages == likeliest.passages


def test_scores_have_no_place_for_it(coded: Path) -> None:
    outcome = predict(coded, "--output", "scores")
    assert outcome.exit_code == 2
    assert "scores are of labels only" in outcome.output


def test_rules_say_that_it_cannot_be_billed_and_still_read_the_sides_of_others(coded: Path, wrong_side: str) -> None:
    """``I44``, left bundle-branch block, is named by no model here."""
    category = Category("I44", 0.6, 0.4, codes=(ScoredLabel("I44.0", 0.3, -1.0), ScoredLabel("I44.1", 0.3, -1.0)))
    predictor = Predictor.load(coded, device="cpu")
    [prediction] = predictor.predict([wrong_side])
    alone = hinted(predictor, wrong_side, prediction.labels)
    *labels, last = hinted(predictor, wrong_side, [*prediction.labels, category])
    assert "laterality" in {hint["rule"] for label in alone for hint in label.hints}
    assert labels == alone
    assert "not_billable" in [hint["rule"] for hint in last.hints]
    assert codes_open(last) == ["I44.0", "I44.1"]
