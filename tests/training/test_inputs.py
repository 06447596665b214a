"""The relevance of a run, kept in its folder and made again where it is damaged; marks; sparse logits."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from plant_plugin.config import Config
from plant_plugin.relevance.mutual_information import Relevance
from plant_plugin.report.run import Run
from plant_plugin.training import inputs as module
from plant_plugin.training.inputs import Inputs, Shortlists, mark_tokens, planted_relevance, prepare

Made = Callable[..., Config]


def test_a_damaged_relevance_file_is_made_again(made: Made, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = made()
    record = Run(tmp_path / "run")
    documents = prepare(config, record)
    whole = planted_relevance(documents, config.relevance, record).matrix
    path = tmp_path / "run" / "relevance.npz"
    path.write_bytes(path.read_bytes()[:100])
    again = planted_relevance(documents, config.relevance, record)
    assert "The relevance is computed again." in capsys.readouterr().err
    for matrix in (again.matrix, Relevance.load(path).matrix):
        assert (matrix != whole).nnz == 0


@pytest.mark.parametrize(
    ("trains", "tests", "marked"),
    [(True, True, {"train", "val", "test"}), (False, True, {"val", "test"}), (True, False, {"train", "val"})],
)
def test_only_splits_that_will_be_read_are_marked(
    monkeypatch: pytest.MonkeyPatch, trains: bool, tests: bool, marked: set[str]
) -> None:
    monkeypatch.setattr(module, "phrase_marks", lambda phrases, texts, arrays, *others: texts)
    splits = [SimpleNamespace(name=name, texts=[name], parents=[0]) for name in ("train", "val", "test")]
    arrays: Any = dict.fromkeys(("train", "val", "test"))
    documents: Any = SimpleNamespace(splits=splits, arrays=arrays, tokens=SimpleNamespace(spans=list), max_length=1)
    run: Any = SimpleNamespace(tests=tests, phase=lambda name: nullcontext())
    phrases: Any = object()
    assert set(mark_tokens(documents, phrases, 1.0, run, trains=trains)) == marked
    assert mark_tokens(documents, phrases, 0.0, run, trains=trains) == {}
    assert mark_tokens(documents, None, 1.0, run, trains=trains) == {}


def test_shortlists_have_one_length_and_place_logits_where_scores_are_known() -> None:
    labels = np.array([[0, 2], [1, 3], [0, 1]], np.int32)
    documents: Any = SimpleNamespace(num_labels=4)
    lists = Shortlists({"train": labels, "val": labels}, {"val": np.zeros((3, 2), np.float32)})
    inputs, logits = Inputs(documents, shortlists=lists), np.array([[5, 6], [7, 8]], np.float32)
    assert (lists.length, Shortlists().length) == (2, None)
    placed: Any = inputs.placed("val", np.array([2, 0]), logits)
    np.testing.assert_array_equal(placed.todense(), [[5, 6, 0, 0], [7, 0, 8, 0]])
    assert inputs.placed("train", np.array([2, 0]), logits) is logits
