"""Models on the made-up task: one that was trained, and one of every network as it starts."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from exporting import export
from made_up_task import made_config, write_language_model, write_splits

from plant_plugin import Predictor
from plant_plugin.report.run import Run
from plant_plugin.training.build import build_network, plant_relevance, save
from plant_plugin.training.inputs import Inputs, prepare
from plant_plugin.training.run import run
from plant_plugin.training.scoring import Scoring


@pytest.fixture(scope="session")
def task(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the made-up files and a small language model."""
    folder = tmp_path_factory.mktemp("task")
    write_splits(folder)
    write_language_model(folder)
    return folder


@pytest.fixture(scope="session")
def trained(task: Path) -> Path:
    """PLANT with planted scores, trained until it knows the words of each label; ``predictions.txt`` lies beside."""
    config = made_config(
        task, stage2__epochs=15, batch_size=16, planted_scores__model="ridge", planted_scores__weight=2.0,
        save_k_predictions=3,
    )  # fmt: skip
    run(config)
    return Path(config.checkpoint_dir)


# What the made-up labels L0 to L11 are called where rules for codes are asked.
CODES = "I10 E11.9 E10.9 S72.001A S72.002A D63.1 N18.30 J18.9 K52.9 R19.7 S02.0XX R52".split()


@pytest.fixture(scope="session")
def coded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with codes of ICD-10-CM as labels, and without planted scores."""
    folder = tmp_path_factory.mktemp("coded")
    write_splits(folder)
    for path in folder.glob("*.txt"):
        path.write_text(re.sub(r"\bL(\d+)", lambda label: CODES[int(label[1])], path.read_text()))
    config = made_config(folder, stage2__epochs=15, batch_size=16, data_name="coded")
    run(config)
    return Path(config.checkpoint_dir)


@pytest.fixture(scope="session")
def wrong_side() -> str:
    """A text that says left where it speaks for a code of the right side, and two codes that exclude each other."""
    return "filler1 filler2 left sign3x sign3x, filler3 filler4 sign1x sign1x filler5 sign2x sign2x"


@pytest.fixture(scope="session")
def untrained(task: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Writes the folder of a network with the weights it starts with."""

    def made(**changes: Any) -> Path:
        config = made_config(task, result_dir=str(tmp_path_factory.mktemp("model")), **changes)
        record = Run(Path(config.checkpoint_dir), silent=True)
        record.config_hash = config.hash()
        documents = prepare(config, record)
        network = build_network(documents, config, record)
        plant_relevance(network, documents, config, record, planted=True)
        save(Scoring(network, Inputs(documents), None, config, record), {"0.5": 0.0})
        return record.folder

    return made


@pytest.fixture(scope="module")
def predictor(trained: Path) -> Predictor:
    return Predictor.load(trained, device="cpu")


@pytest.fixture(scope="session")
def exported(trained: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that ``plant export`` makes of the trained model."""
    out = tmp_path_factory.mktemp("hub") / "model"
    done = export(trained, out, "--language", "en")
    assert done.exit_code == 0, done.output
    return out
