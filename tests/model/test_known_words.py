"""A text of no known word says so, on page, desk, command and in FHIR."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path

import named_notes
import pytest
from made_up_task import made_config
from rich.console import Console

from plant_plugin import Predictor
from plant_plugin.data.tables import Document
from plant_plugin.model.known_words import BEGINNING, NOTHING_KNOWN
from plant_plugin.model.page import page
from plant_plugin.model.prediction_files import written
from plant_plugin.model.printed import print_explanation
from plant_plugin.serving.desk.suggestions import suggest
from plant_plugin.training.run import run

UNKNOWN = ["", " \n", "... !", "neverseen", "Neverseen, 4711 neverheard"]


@pytest.fixture(scope="module")
def alone(task: Path) -> Predictor:
    """A model without a network."""
    config = made_config(task, strategy="planted_scores", planted_scores__model="ridge")
    run(config)
    return Predictor.load(config.checkpoint_dir, device="cpu")


@pytest.fixture(scope="module")
def bare(untrained: Callable[..., Path]) -> Predictor:
    """A network without planted scores."""
    return Predictor.load(untrained(), device="cpu")


@pytest.fixture(params=["predictor", "alone", "bare"])
def model(request: pytest.FixtureRequest) -> Predictor:
    found: Predictor = request.getfixturevalue(request.param)
    return found


def test_who_has_no_network_names_none(alone: Predictor, bare: Predictor) -> None:
    assert (alone.network_name, bare.network_name) == ("none, planted scores alone", "PLANT")


@pytest.mark.parametrize("text", UNKNOWN)
def test_a_text_of_no_known_word_says_so_everywhere(model: Predictor, text: str) -> None:
    [prediction] = model.predict([text], top=1)
    assert (prediction.tokens, len(prediction.labels)) == (0, 1)
    explanation = model.explain(text)
    assert explanation.tokens == 0
    printed = io.StringIO()
    print_explanation(explanation, Console(file=printed, width=200))
    assert NOTHING_KNOWN in printed.getvalue()
    assert NOTHING_KNOWN in page([explanation])
    assert [suggestions.labels for suggestions in suggest(model, [text])] == [[]]
    bundle, counts = written(model, [Document(text, id="1")], output="fhir", system="urn:x", threshold=None, top=1)
    assert json.loads(bundle)["meta"]["tag"][0]["display"] == NOTHING_KNOWN
    assert counts["empty"] == 1


@pytest.mark.parametrize("text", ["sign3x", "neverseen Sign3x", "neverseen " * BEGINNING + "sign3x"])
def test_one_known_word_is_enough(model: Predictor, text: str) -> None:
    [prediction] = model.predict([text], top=1)
    explanation = model.explain(text)
    if explanation.cut and model.planted_scores is None:
        assert prediction.tokens == explanation.tokens == 0  # the network does not read as far
        return
    assert min(prediction.tokens, explanation.tokens) > 0
    assert NOTHING_KNOWN not in page([explanation])
    assert suggest(model, [text])[0].labels
    bundle, _ = written(model, [Document(text, id="1")], output="fhir", system="urn:x", threshold=None, top=1)
    assert "meta" not in json.loads(bundle)


def test_a_name_is_a_known_word(tmp_path: Path) -> None:
    files = named_notes.write(tmp_path)
    config = made_config(
        tmp_path, strategy="planted_scores", planted_scores__model="ridge", label_set="named",
        evidence__training_file=str(files["evidence"]),
    )  # fmt: skip
    run(config)
    model = Predictor.load(config.checkpoint_dir, device="cpu")
    assert model.open_labels is not None
    label = model.open_labels.added[0]
    notes = named_notes.notes([label, model.labels[0]], 1, 7)
    start, end = notes.evidence[0][label][0]
    assert model.predict([notes.texts[0][start:end]], top=1)[0].tokens > 0
    assert model.predict(["neverseen neverheard"], top=1)[0].tokens == 0
