"""A trained model on new texts."""

from __future__ import annotations

import doctest
import math
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_up_task import LABELS

import plant_plugin
from plant_plugin import Predictor
from plant_plugin.config import registry
from plant_plugin.errors import ConfigError
from plant_plugin.model import predictor as predictor_module
from plant_plugin.model.trained import CHUNK_BATCHES

PRIOR = {"planted_prior": "additive"}
NETWORKS: dict[str, dict[str, Any]] = {
    "PLANT": {
        "encoder": "bigru",
        "hidden_size": 16,
        "num_heads": 2,
        "pool_size": 8,
        "embed_dim": 16,
    },
    "LAAT": {"hidden_size": 16, "projection_size": 8, "embed_dim": 16, **PRIOR},
    "MultiResCNN": {"filter_sizes": [1, 3], "num_filter_per_size": 8, "embed_dim": 16, **PRIOR},
    "PlantedCAML": {"filter_sizes": [3], "num_filter_per_size": 16, "embed_dim": 16, **PRIOR},
    "PlantedBiGRULWAN": {"rnn_dim": 16, "embed_dim": 16},
    "PLMICD": {"lm_weight": "bert", "lm_window": 16, **PRIOR},
    "PLMCA": {"lm_weight": "bert", "lm_window": 16, **PRIOR},
    "PlantedPLMCA": {"lm_weight": "bert", "lm_window": 16, **PRIOR},
    "PLANTL2R": {"embed_dim": 8, "hidden_size": 12, "num_layers": 2, "ranker_size": 8, "ranker_hidden": 8},
}


@pytest.fixture(scope="module")
def predictor(trained: Path) -> Predictor:
    return Predictor.load(trained, device="cpu", batch_size=4)


def texts_of(task: Path, split: str = "test") -> list[str]:
    return [line.split("\t")[1].strip() for line in (task / f"{split}.txt").read_text().splitlines()]


def test_the_examples_in_the_docstrings(trained: Path) -> None:
    outcome = doctest.testmod(predictor_module, extraglobs={"folder": trained})
    assert outcome.attempted == 9
    assert outcome.failed == 0


def test_the_same_numbers_as_the_run_that_trained_it(predictor: Predictor, task: Path) -> None:
    assert predictor.planted_scores is not None
    assert predictor.planted_scores.weight == 2
    lines = [
        " ".join(f"{found.label}:{found.logit:.4}" for found in prediction.labels)
        for prediction in predictor.predict(texts_of(task), top=3)
    ]
    assert lines == (task / "predictions.txt").read_text().splitlines()


def test_every_network_is_tried() -> None:
    assert set(NETWORKS) == {name for name, entry in registry.entries("networks").items() if entry.ours}


@pytest.mark.parametrize("name", NETWORKS)
def test_every_network_is_loaded(untrained: Callable[..., Path], task: Path, name: str) -> None:
    options = dict(NETWORKS[name])
    if "lm_weight" in options:
        options["lm_weight"] = str(task / "bert")
    loaded = Predictor.load(untrained(model_name=name, network_config=options), device="cpu")
    found = loaded.predict(texts_of(task)[:3], top=2)
    assert [len(prediction.labels) for prediction in found] == [2, 2, 2]
    assert all(prediction.tokens > 20 for prediction in found)


def test_neither_batch_nor_order_changes_a_document(trained: Path, predictor: Predictor, task: Path) -> None:
    texts = [*texts_of(task), "sign1x", "", "sign2x " * 300]
    one = Predictor.load(trained, device="cpu", batch_size=1).logits(texts)
    np.testing.assert_allclose(predictor.logits(texts[::-1])[::-1], one, atol=1e-5)


def test_thresholds(predictor: Predictor, task: Path) -> None:
    texts = texts_of(task)
    logits = predictor.logits(texts)
    for threshold, limit in (
        (None, predictor.thresholds["micro"]),
        ("macro", predictor.thresholds["macro"]),
        (0.9, math.log(9)),
    ):
        for row, prediction in zip(logits, predictor.predict(texts, threshold=threshold), strict=True):
            expected = [column for column in np.argsort(-row, kind="stable") if row[column] > limit]
            assert [found.label for found in prediction.labels] == [predictor.labels[column] for column in expected]
            for found, column in zip(prediction.labels, expected, strict=True):
                assert found.probability == pytest.approx(1 / (1 + np.exp(-float(row[column]))), abs=1e-6)


def test_top_and_threshold_together(predictor: Predictor) -> None:
    text = "sign1x sign2x sign3x"
    above = predictor.predict([text], threshold=1e-6)[0].labels
    assert len(above) > 2
    assert predictor.predict([text], threshold=1e-6, top=2)[0].labels == above[:2]
    assert len(predictor.predict([text], top=1000)[0].labels) == LABELS
    assert predictor.predict([text], threshold=1 - 1e-12, top=2)[0].labels == []


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"threshold": "best"}, "no threshold 'best'"),
        ({"threshold": 0.0}, "between 0 and 1"),
        ({"threshold": 1.5}, "between 0 and 1"),
        ({"top": 0}, "0 is no number of labels"),
        ({"top": 1.5}, "1.5 is no number of labels"),
    ],
)
def test_what_cannot_be_asked(predictor: Predictor, asked: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        predictor.stream(["a"], **asked)
    with pytest.raises(ConfigError, match=message):
        predictor.explain("a", **asked)


def test_one_text_is_not_taken_for_its_characters(predictor: Predictor) -> None:
    for read in (predictor.predict, predictor.logits):
        with pytest.raises(ConfigError, match="one string"):
            read("sign3x")
    with pytest.raises(ConfigError, match="labels: one string"):
        predictor.explain("sign3x", "L3")


@pytest.mark.parametrize("no_text", [None, 3, b"sign3x", float("nan")])
def test_what_is_no_text_is_refused(predictor: Predictor, no_text: Any) -> None:
    """As a cell of a table without a text is: it would end in the middle of some other module."""
    for read in (predictor.predict, predictor.logits):
        with pytest.raises(ConfigError, match=f"texts: {type(no_text).__name__}, where a text is expected"):
            read(["sign3x", no_text])
    with pytest.raises(ConfigError, match="where a text is expected"):
        predictor.explain(no_text)


def test_a_model_without_tuned_thresholds(untrained: Callable[..., Path]) -> None:
    predictor = Predictor.load(untrained(), device="cpu")
    assert predictor.limit() == 0.0
    with pytest.raises(ConfigError, match=r"take one of 0\.5"):
        predictor.predict(["a"], threshold="micro")


def test_empty_and_unknown_texts_are_marked(predictor: Predictor) -> None:
    empty, unknown, number, known = predictor.predict(["", "neverseen", "123", "sign1x"], top=1)
    assert [empty.tokens, unknown.tokens, number.tokens, known.tokens] == [0, 0, 0, 1]
    assert not empty.cut
    assert len(empty.labels) == 1


def test_five_megabytes_of_text(predictor: Predictor) -> None:
    [prediction] = predictor.predict(["sign1x filler2 <b>\n" * 300_000], top=1)
    assert prediction.cut
    assert prediction.tokens == predictor.max_tokens
    assert prediction.labels[0].label == "L1"


def test_streaming_reads_ahead_a_bounded_number(predictor: Predictor) -> None:
    read = 0

    def endless() -> Iterator[str]:
        nonlocal read
        while True:
            read += 1
            yield f"sign{read % 3}x filler1"

    found = [prediction.labels[0].label for prediction in islice(predictor.stream(endless(), top=1), 70)]
    assert found == [f"L{place % 3}" for place in range(1, 71)]
    assert read == 2 * CHUNK_BATCHES * 4


def test_names(trained: Path) -> None:
    predictor = Predictor.load(trained, device="cpu", names={"L1": "the first"}.get)
    found = predictor.predict(["sign1x sign2x"], top=2)[0].labels
    assert {one.label: one.name for one in found} == {"L1": "the first", "L2": None}


def test_the_package_has_no_other_names() -> None:
    with pytest.raises(AttributeError, match="Nothing"):
        plant_plugin.Nothing  # noqa: B018
