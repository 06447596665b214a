"""The relevance of a run: kept in its folder, made again where it is damaged, or read from counts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from plant_plugin.config import Config
from plant_plugin.relevance.mutual_information import Relevance
from plant_plugin.report.run import Run
from plant_plugin.training.prepare import planted_relevance, prepare

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
