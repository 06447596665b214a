"""A model without a network shows the words that speak for a label, wherever words are shown."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import named_notes
import numpy as np
import pytest
from made_up_task import made_config, write_splits
from marked_task import marked_config, write_marked_splits
from rich.console import Console

from plant_plugin import Predictor
from plant_plugin.config import Config
from plant_plugin.data.tables import Document, read_any
from plant_plugin.model import planted_words
from plant_plugin.model.faithfulness import with_faithfulness
from plant_plugin.model.fhir import OURS
from plant_plugin.model.page import page
from plant_plugin.model.prediction_files import written
from plant_plugin.model.printed import print_explanation
from plant_plugin.serving.desk.suggestions import suggest
from plant_plugin.training.run import run

SCORES_ALONE = {"strategy": "planted_scores", "planted_scores__model": "ridge"}


def _named(folder: Path) -> Config:
    files = named_notes.write(folder)
    return made_config(folder, label_set="named", evidence__training_file=str(files["evidence"]), **SCORES_ALONE)


def _plain(folder: Path, **changes: Any) -> Config:
    write_splits(folder)
    return made_config(folder, **SCORES_ALONE, **changes)


def _marked(folder: Path) -> Config:
    write_marked_splits(folder)
    return marked_config(folder, **SCORES_ALONE)


# What can add to the score of a label: each way to get it.
WAYS: dict[str, Callable[[Path], Config]] = {
    "words": _plain,
    "beginnings of words and of texts": lambda folder: _plain(
        folder, planted_scores__word_letters=4, planted_scores__lead=5
    ),
    "mined phrases": lambda folder: _plain(folder, evidence__mine=True),
    "marked phrases and sentences": _marked,
    "names": _named,
}


@pytest.fixture(scope="module", params=WAYS)
def read(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Predictor, list[str]]:
    """A model without a network, and texts."""
    folder = tmp_path_factory.mktemp("alone")
    config = WAYS[request.param](folder)
    run(config)
    return Predictor.load(config.checkpoint_dir, device="cpu"), read_any(folder / "test.txt").texts[:6]


def add_up(read: tuple[Predictor, list[str]]) -> None:
    predictor, texts = read
    assert predictor.planted_scores is not None
    names = predictor.names_in(texts[0])
    columns = range(predictor.num_trained)
    trained = [predictor.labels[column] for column in columns if names is None or not names.is_named(column)]
    own: dict[str, list[float]] = {label: [] for label in trained}
    for text in texts:
        logits = dict(zip(predictor.labels, predictor.logits([text])[0].tolist(), strict=True))
        for evidence in predictor.explain(text, trained).labels:
            logit = evidence.scored.logit
            assert evidence.contribution is not None
            assert logit == pytest.approx(logits[evidence.scored.label], abs=1e-4)
            assert evidence.contribution.sum() + evidence.bias == pytest.approx(logit, abs=1e-4)
            assert (evidence.planted, evidence.elsewhere) == (0, 0)
            assert not evidence.attention.any()
            made = predictor.log_odds
            slope = made.slope_above if logit > made.at_offset else made.slope_below
            own[evidence.scored.label].append((evidence.bias - made.at_offset) / slope)
    for of_texts in own.values():  # nothing of a text is in it
        assert of_texts == pytest.approx([of_texts[0]] * len(texts), abs=1e-3)


def test_words_and_the_label_s_own_are_the_logit_and_are_shown_everywhere(read: tuple[Predictor, list[str]]) -> None:
    add_up(read)  # not a test of its own: it would train each model twice where tests run in two processes
    predictor, [text, *_] = read
    explanation = predictor.explain(text)
    assert any(evidence.predicted for evidence in explanation.labels)
    for evidence in explanation.labels:
        assert evidence.passages
        assert 0 < evidence.passages[0].score == max(passage.score for passage in evidence.passages)
    [suggestions] = suggest(predictor, [text])
    assert suggestions.labels[0]["spans"]
    bundle, _ = written(predictor, [Document(text, id="1")], output="fhir", system="urn:x", threshold=None, top=None)
    assert bundle.count(f'"{OURS}:evidence"') == sum(len(evidence.passages) for evidence in explanation.labels)
    assert not re.search(r'"passages":\[\]', page([explanation]))
    printed = io.StringIO()
    print_explanation(explanation, Console(file=printed, width=200))
    best = explanation.labels[0].passages[0]
    shown = " ".join(text[best.start : best.end].split())
    assert f"**{shown}**" in printed.getvalue()
    assert "attention" not in printed.getvalue()
    [measured, *_] = with_faithfulness(predictor, explanation).labels
    assert measured.faithfulness is not None
    assert measured.faithfulness["contribution"][0] > measured.faithfulness["random"][0]


def test_without_a_network_the_whole_text_is_read(tmp_path: Path) -> None:
    config = _plain(tmp_path, max_seq_length=3)
    run(config)
    predictor = Predictor.load(config.checkpoint_dir, device="cpu")
    text = " ".join(["filler1"] * 10 + ["sign3x"])
    explanation = predictor.explain(text, ["L3"])
    assert not explanation.cut
    assert text[slice(*explanation.words[-1])] == "sign3x"
    assert explanation.labels[0].strongest(1) == [10]
    [prediction] = predictor.predict([text], top=1)
    assert (prediction.labels[0].label, prediction.tokens, prediction.cut) == ("L3", 11, False)


def test_outside_a_shortlist_the_planted_scores_speak(untrained: Callable[..., Path], task: Path) -> None:
    config = made_config(
        task, shortlist__size=3, planted_scores__model="ridge", planted_scores__weight=2.0, stage2__epochs=1
    )
    run(config)
    predictor = Predictor.load(config.checkpoint_dir, device="cpu")
    text = "filler1 sign3x filler2"
    listed = predictor.shortlist([text])
    assert listed is not None
    outside = [label for column, label in enumerate(predictor.labels) if column not in listed[0]]
    for evidence in predictor.explain(text, outside).labels:
        assert evidence.contribution is not None
        [added] = planted_words.planted_words(
            planted_words.EncodedDocument(predictor, text),
            predictor.explain(text).words,
            [predictor.column_of[evidence.scored.label]],
        )
        assert evidence.contribution.any()
        assert np.abs(np.corrcoef(added, evidence.contribution)[0, 1]) == pytest.approx(1, abs=1e-3)
        assert evidence.contribution.sum() + evidence.bias == pytest.approx(evidence.scored.logit, abs=1e-4)
        assert not evidence.attention.any()
