"""Training from tables in memory: the same run as from files, whatever the table is."""

from __future__ import annotations

import doctest
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from made_up_task import write_splits

from plant_plugin import Predictor, train
from plant_plugin.data.tables import read_any
from plant_plugin.errors import CheckpointError, DataError
from plant_plugin.training import in_memory

OPTIONS: dict[str, Any] = {"strategy": "planted_scores", "planted_scores.names": "none", "cpu": True, "silent": True}


class Columns:
    """A table that knows only its columns, as a data set of Hugging Face's does."""

    def __init__(self, columns: dict[str, list[Any]]) -> None:
        self.columns = columns

    def __getitem__(self, name: str) -> list[Any]:
        return self.columns[name]


@pytest.fixture
def splits(tmp_path: Path) -> dict[str, dict[str, list[Any]]]:
    write_splits(tmp_path)
    read = {name: read_any(tmp_path / f"{name}.txt") for name in ("train", "test")}
    return {name: {"text": split.texts, "labels": split.labels} for name, split in read.items()}


def test_a_table_trains_as_its_file_does(splits: Any, tmp_path: Path) -> None:
    options = {**OPTIONS, "result_dir": str(tmp_path / "runs"), "val_file": str(tmp_path / "valid.txt")}
    files = train(tmp_path / "train.txt", tmp_path / "test.txt", options=options, device="cpu")
    joined = pd.DataFrame(splits["train"]).assign(labels=lambda table: table["labels"].str.join(";"))
    tables = train(joined, Columns(splits["test"]), options=options, device="cpu")
    assert tables.result["metrics"] == files.result["metrics"]
    assert tables.result["hashes"]["train"] == files.result["hashes"]["train"]
    assert tables.folder != files.folder
    assert (tables.folder / "settled.yml").is_file()
    (first,) = tables.predictor.predict(["sign11x filler2"], top=1)
    assert first == Predictor.load(files.folder, device="cpu").predict(["sign11x filler2"], top=1)[0]
    assert first.labels[0].label == "L11"


def test_a_packaged_configuration_brings_no_documents_of_its_own(splits: Any, tmp_path: Path) -> None:
    options = {"result_dir": str(tmp_path / "runs"), "silent": True}
    linear = train(splits["train"], config="linear_demo.yml", options=options)
    assert linear.result == {}, "nothing was given to test on"
    with pytest.raises(CheckpointError):
        linear.predictor  # noqa: B018


def test_what_is_wrong_with_a_table_is_said(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="train: the table has no column labels"):
        train({"text": ["a"]}, options=OPTIONS)
    with pytest.raises(DataError, match="no training document has a label"):
        train({"text": ["a b", "c d", "e f"], "labels": [[], [], []]}, options=OPTIONS)


def test_the_example_in_the_docstring(splits: Any, tmp_path: Path) -> None:
    options = {**OPTIONS, "result_dir": str(tmp_path / "runs")}
    extra = {"options": options, "texts": splits["train"]["text"], "labels": splits["train"]["labels"]}
    outcome = doctest.testmod(in_memory, extraglobs=extra, verbose=False)
    assert (outcome.attempted, outcome.failed) == (3, 0)
