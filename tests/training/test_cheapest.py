"""Whole runs in which `auto` decides over the network and over names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import named_notes
import pytest
from made_up_task import made_config, write_splits

from plant_plugin.config import Config
from plant_plugin.errors import ConfigError
from plant_plugin.evaluation.verdict import Comparison
from plant_plugin.model.folder import read_content
from plant_plugin.networks.no_network import NO_NETWORK
from plant_plugin.relevance.names.open_labels import ARRAYS
from plant_plugin.report.record import FIRST_PASS, read_run_record
from plant_plugin.training import cheapest
from plant_plugin.training.further import decided
from plant_plugin.training.run import run

SCORES = {"strategy": "auto", "planted_scores__model": "ridge", "val_metric": "nDCG@5"}


@pytest.fixture
def saying(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Says in the place of validation documents what a part gains."""

    def say(gain: float) -> None:
        found = Comparison(gain, gain - 0.01, gain + 0.01, 0.0, None, 0.0, seeds=1)
        monkeypatch.setattr(cheapest, "gain_of", lambda *results: found)

    return say


@pytest.mark.parametrize("refit", ["none", "train+val"])
def test_a_network_that_is_no_better_is_left_out(
    tmp_path: Path, saying: Callable[[float], None], refit: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write_splits(tmp_path)
    saying(0.005)
    config = made_config(tmp_path, **SCORES, refit=refit, silent=False)
    result, folder = run(config), Path(config.checkpoint_dir)
    assert result["strategy"] == "planted_scores"
    assert read_content(folder, trust_code=True)["model_name"] == NO_NETWORK
    compared: Any = result["compared"]["network"]
    assert (compared["metric"], compared["documents"], compared["low"]) == ("nDCG@5", 30, pytest.approx(-0.005))
    assert compared["cpu_s"] > 0
    assert "refit_stage1" not in result["time_s"]
    assert "network: +0.5 (-0.5 to 1.5) points of nDCG@5 on 30 validation documents" in capsys.readouterr().err
    values = {**SCORES, "strategy": "planted_scores", "refit": refit}
    alone = run(made_config(tmp_path, **values, result_dir=str(tmp_path / "alone")))
    assert alone["metrics"] == pytest.approx(result["metrics"])
    again = {"eval": True, "checkpoint_path": str(folder), "result_dir": str(tmp_path / "tested")}
    tested = run(made_config(tmp_path, **SCORES, **again))
    assert tested["metrics"]["nDCG@5"] == pytest.approx(result["metrics"]["nDCG@5"], abs=0.02)


def test_a_network_that_is_better_stays(tmp_path: Path, saying: Callable[[float], None]) -> None:
    write_splits(tmp_path)
    saying(0.02)
    config = made_config(tmp_path, **SCORES, refit="train+val")
    result, folder = run(config), Path(config.checkpoint_dir)
    assert result["strategy"] == "plant"
    assert "refit_stage2" in result["time_s"]
    assert decided(config, folder) == {"strategy": "plant"}
    values = {**SCORES, "strategy": "plant", "refit": "train+val", "result_dir": str(tmp_path / "plain")}
    assert run(made_config(tmp_path, **values))["metrics"] == pytest.approx(result["metrics"])


@pytest.mark.integration
def test_names_stay_where_validation_documents_have_labels_that_only_they_say(tmp_path: Path) -> None:
    files = named_notes.write(tmp_path)
    given: dict[str, Any] = {"strategy": "planted_scores", "planted_scores__model": "ridge", "label_set": "auto"}
    given |= {"evidence__training_file": str(files["evidence"]), "val_metric": "MAP", "refit": "train+val"}
    config = made_config(tmp_path, **given)
    result, folder = run(config), Path(config.checkpoint_dir)
    compared: Any = result["compared"]["names"]
    assert (compared["metric"], compared["low"] > 0) == ("MAP-gold", True)
    assert (folder / ARRAYS).is_file()
    assert decided(config, folder) == {"label_set": "named"}
    record = read_run_record(folder / FIRST_PASS)
    assert record is not None
    assert record["compared"].keys() == {"names"}


@pytest.mark.integration
def test_names_that_add_nothing_leave_no_file(tmp_path: Path, saying: Callable[[float], None]) -> None:
    files = named_notes.write(tmp_path)
    saying(-0.1)
    given: dict[str, Any] = {"strategy": "planted_scores", "planted_scores__model": "ridge", "label_set": "auto"}
    config: Config = made_config(tmp_path, **given, evidence__training_file=str(files["evidence"]))
    run(config)
    assert not (Path(config.checkpoint_dir) / ARRAYS).exists()
    assert decided(config, Path(config.checkpoint_dir)) == {"label_set": "trained"}


@pytest.mark.parametrize(
    ("metric", "compared"),
    [("MAP", "MAP-gold"), ("MAP-gold", "MAP-gold"), ("P@1", "P@1"), ("AUC-macro", "nDCG@5"), ("Micro-F1", "nDCG@5")],
)
def test_every_validation_metric_has_one_that_compares_document_by_document(
    tmp_path: Path, metric: str, compared: str
) -> None:
    write_splits(tmp_path)
    config = made_config(tmp_path, **{**SCORES, "val_metric": metric, "stage1__epochs": 1, "stage2__epochs": 1})
    result: Any = run(config)["compared"]["network"]
    assert result["metric"] == compared


@pytest.mark.parametrize("key", ["strategy", "label_set", "shortlist__size"])
def test_nothing_is_found_out_without_validation_documents(tmp_path: Path, key: str) -> None:
    write_splits(tmp_path)
    given = {**SCORES, "strategy": "planted_scores", "planted_scores__weight": 1.0, key: "auto"}
    with pytest.raises(ConfigError, match="there are no validation documents to choose it on"):
        made_config(tmp_path, **given, val_file=None, val_size=0)


def test_without_planted_scores_there_is_nothing_to_compare_with(tmp_path: Path) -> None:
    write_splits(tmp_path)
    with pytest.raises(ConfigError, match="there are no planted scores"):
        made_config(tmp_path, **{**SCORES, "planted_scores__model": "none"})
