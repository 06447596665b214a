from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from plant_plugin.config import Config
from plant_plugin.evaluation.promises import is_promise
from plant_plugin.model.predictor import Predictor
from plant_plugin.report.promises import read_promises
from plant_plugin.training.run import run

Made = Callable[..., Config]


@pytest.mark.parametrize("refit", ["none", "train+val"])
def test_a_run_chooses_promises_on_validation_and_measures_them_on_test(made: Made, refit: str) -> None:
    config = made(strategy="planted_scores", planted_scores__model="ridge", refit=refit)
    result = run(config)
    predictor, outcomes = Predictor.load(config.checkpoint_dir), read_promises(config.checkpoint_dir)
    promises = {name: value for name, value in predictor.thresholds.items() if is_promise(name)}
    assert "promise 0.8" in promises
    assert {*outcomes} == {"val", "test"}
    for name in promises:
        on_validation, on_test = (outcomes["val"][name], outcomes["test"][name])
        assert on_validation["documents"] > 0
        if name.startswith("promise"):
            assert on_validation["listed"] >= float(name.split()[1])
            assert on_test["listed"] > float(name.split()[1]) - 0.15
    texts = Path(config.test_file or "").read_text().splitlines()[:20]
    for name in promises:  # the folder has them too
        assert all(
            label.logit > promises[name]
            for prediction in predictor.predict(texts, threshold=name)
            for label in prediction.labels
        )
    assert not any("promise" in name for name in (*result["metrics"], *result["thresholds"]))


def test_without_validation_documents_nothing_is_promised(made: Made) -> None:
    weight = {"planted_scores__weight": 1.0, "planted_scores__model": "ridge"}
    config = made(strategy="planted_scores", val_file=None, val_size=0, **weight)
    run(config)
    assert not any(map(is_promise, Predictor.load(config.checkpoint_dir).thresholds))
    assert read_promises(config.checkpoint_dir) == {}


def test_a_test_of_a_trained_model_measures_what_it_promises(made: Made, tmp_path: Path) -> None:
    config = made(strategy="planted_scores", planted_scores__model="ridge")
    run(config)
    again = made(
        strategy="planted_scores",
        planted_scores__model="ridge",
        eval=True,
        checkpoint_path=str(config.checkpoint_dir),
        result_dir=str(tmp_path / "again"),
    )
    run(again)
    assert read_promises(again.checkpoint_dir) == {"test": read_promises(config.checkpoint_dir)["test"]}
