"""The relevance of a run: kept in its folder, made again where it is damaged, or read from counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from plant_plugin.config import Config
from plant_plugin.errors import ConfigError, DataError
from plant_plugin.relevance import Relevance
from plant_plugin.relevance.site_counts import SiteCounts
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


def test_relevance_of_counts_is_that_of_the_training_file(made: Made, tmp_path: Path) -> None:
    config = made()
    record = Run(tmp_path / "run")
    documents = prepare(config, record)
    expected = planted_relevance(documents, config.relevance, record).matrix
    arrays, names, tokens = documents.arrays["train"], documents.corpus.label_names, documents.tokens
    counted = SiteCounts.of(arrays, documents.labels["train"], names, tokens, 1)
    for path, counts in (("all.npz", counted), ("few.npz", counted.aligned(names[:1], counted.types))):
        counts.save(tmp_path / path)
    options = made(relevance__counts=str(tmp_path / "all.npz")).relevance
    matrix = planted_relevance(documents, options, record).matrix
    assert matrix is not expected
    assert (matrix != expected).nnz == 0
    few = replace(options, counts=str(tmp_path / "few.npz"))  # not what the run kept
    assert set(planted_relevance(documents, few, record).matrix.nonzero()[0].tolist()) == {0}
    foreign = replace(counted, labels=[f"{name}?" for name in names])
    foreign.save(tmp_path / "few.npz")
    with pytest.raises(DataError, match="no label here has a word there"):
        planted_relevance(documents, few, record)


def test_counts_that_no_run_can_use(made: Made, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such file"):
        made(relevance__counts=str(tmp_path / "none.npz"))
    (tmp_path / "some.npz").touch()
    with pytest.raises(ConfigError, match="documents of pairs that meet"):
        made(relevance__counts=str(tmp_path / "some.npz"), relevance__association="any")
