"""Hints beside predictions and explanations."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from made_up_task import made_config

from plant_plugin import Predictor
from plant_plugin.errors import ConfigError
from plant_plugin.model import hints
from plant_plugin.model.formats import as_dictionary
from plant_plugin.model.hints import hinted, with_hints
from plant_plugin.training.run import run


@pytest.fixture(scope="module")
def coder(coded: Path) -> Predictor:
    return Predictor.load(coded, device="cpu")


def test_an_explanation_has_hints(coder: Predictor, wrong_side: str) -> None:
    explanation = coder.explain(wrong_side, ["S72.001A", "E11.9", "E10.9"])
    rules = {label.scored.label: [hint["rule"] for hint in label.scored.hints] for label in explanation.labels}
    assert rules == {"S72.001A": ["laterality"], "E11.9": ["excludes1", "use_additional_code"], "E10.9": ["excludes1"]}
    [side] = [label for label in as_dictionary(explanation)["labels"] if label["label"] == "S72.001A"]
    assert side["hints"][0]["text"] == "the code says right, the words that speak for it say left"


def test_words_that_say_the_code_s_side_are_no_fault(coder: Predictor, wrong_side: str) -> None:
    [label] = coder.explain(wrong_side.replace("left", "right"), ["S72.001A"]).labels
    assert label.scored.hints == ()
    assert "hints" not in as_dictionary(coder.explain(wrong_side, ["I10"]))["labels"][0]


def test_a_prediction_gets_the_same_hints(coder: Predictor, wrong_side: str) -> None:
    [prediction] = coder.predict([wrong_side], top=3)
    explained = coder.explain(wrong_side, [label.label for label in prediction.labels])
    labels = hinted(coder, wrong_side, prediction.labels)
    assert {label.label: label.hints for label in labels} == {
        label.scored.label: label.scored.hints for label in explained.labels
    }
    assert [replace(label, hints=()) for label in labels] == prediction.labels


def test_a_network_that_shows_no_words_leaves_out_the_side(
    coder: Predictor, wrong_side: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(*_: object) -> None:
        raise ConfigError("no attention", where="model", fix="another")

    monkeypatch.setattr(hints, "explain", refuses)
    found = {
        label.label: label.hints for label in hinted(coder, wrong_side, coder.predict([wrong_side], top=3)[0].labels)
    }
    assert found["S72.001A"] == ()
    assert found["E10.9"][0]["rule"] == "excludes1"


def test_without_a_network_its_words_say_the_side(coded: Path, wrong_side: str) -> None:
    config = made_config(coded.parents[1], strategy="planted_scores", planted_scores__model="ridge")
    run(config)
    explanation = Predictor.load(config.checkpoint_dir, device="cpu").explain(wrong_side, ["S72.001A"])
    [label] = explanation.labels
    assert [hint["rule"] for hint in label.scored.hints] == ["laterality"]


def test_other_labels_have_no_rules(predictor: Predictor) -> None:
    explanation = predictor.explain("sign3x")
    assert with_hints(predictor, explanation) is explanation
    with pytest.raises(ConfigError, match="rules are known for codes of ICD-10-CM"):
        hinted(predictor, "sign3x", [])
