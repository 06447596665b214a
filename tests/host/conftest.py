"""Made-up documents, word vectors and a tiny language model, and a short way to run a baseline on them."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from made_up import Outcome, write_documents, write_features, write_language_model, write_vectors


@pytest.fixture(autouse=True)
def linear_models_on_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each core has a thread, and threads share the random numbers of the C library: no two models would be equal."""
    monkeypatch.setattr("psutil.cpu_count", lambda logical=True: 1)


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    for seed, (name, size) in enumerate((("train", 60), ("valid", 24), ("test", 24))):
        write_documents(folder / f"{name}.txt", size, seed=seed)
        write_features(folder / f"{name}.svm", size, seed=seed)
    write_vectors(folder / "vectors.txt")
    return folder


@pytest.fixture(scope="session")
def language_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT of a few thousand weights with a word-piece tokenizer for the made-up words."""
    folder = tmp_path_factory.mktemp("bert")
    write_language_model(folder)
    return folder


@pytest.fixture
def settings_for(data: Path, tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """Configuration values for one fast epoch on the made-up documents."""

    def make(**changes: Any) -> dict[str, Any]:
        values: dict[str, Any] = {
            "seed": 1,
            "cpu": True,
            "silent": True,
            "data_workers": 0,
            "training_file": str(data / "train.txt"),
            "val_file": str(data / "valid.txt"),
            "test_file": str(data / "test.txt"),
            "data_name": "made_up",
            "monitor_metrics": ["P@1", "Micro-F1"],
            "val_metric": "P@1",
            "result_dir": str(tmp_path / "runs"),
            "predict_out_path": str(tmp_path / "predictions.txt"),
        }
        if not changes.get("linear"):
            values |= {
                "epochs": 1,
                "batch_size": 16,
                "eval_batch_size": 10,
                "learning_rate": 0.01,
                "max_seq_length": 30,
                "embed_file": str(data / "vectors.txt"),
            }
        return {**values, **changes}

    return make


@pytest.fixture
def baseline(settings_for: Callable[..., dict[str, Any]], tmp_path: Path) -> Callable[..., Outcome]:
    """Run one of LibMultiLabel's models with the given changes."""

    def run(*, trust_code: bool = True, **changes: Any) -> Outcome:
        from plant_plugin.config import load_config
        from plant_plugin.host.baseline import run_baseline
        from plant_plugin.report.run import Run

        config = replace(load_config(None, settings_for(**changes)), trust_code=trust_code)
        folder = Path(config.checkpoint_dir)
        # A linear solver goes on in the C library's random numbers, and ends a little elsewhere.
        ctypes.CDLL(None).srand(1)
        record = Run(folder, silent=config.silent)
        record.config_name, record.config_hash = config.config_name, config.hash()
        return Outcome(run_baseline(config, record), folder, tmp_path / "predictions.txt")

    return run
