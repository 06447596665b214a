from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from plant_plugin.config import load_config
from plant_plugin.errors import CheckpointError, ConfigError
from plant_plugin.host.settings import library_log, library_settings
from plant_plugin.report.run import Run


@pytest.fixture
def settle(settings_for: Callable[..., dict[str, Any]], tmp_path: Path) -> Callable[..., Any]:
    def make(*, silent: bool = True, trust_code: bool = False, **changes: Any) -> Any:
        network = {"model_name": "KimCNN", "network_config": {"filter_sizes": [2]}}
        values = settings_for(**{**network, "silent": silent, **changes})
        config = replace(load_config(None, values), trust_code=trust_code)
        return library_settings(config, Run(tmp_path / "run", silent=silent))

    return make


def test_libmultilabel_finds_its_own_keys(settle: Callable[..., Any], tmp_path: Path) -> None:
    settings = settle()
    assert settings.checkpoint_dir.startswith(str(tmp_path / "runs" / "made_up_KimCNN_"))
    assert settings.early_stopping_metric == settings.val_metric == "P@1"
    assert settings.network_config == {"filter_sizes": [2]}
    assert "training_file" not in settings.used_items()
    assert {"run_name", "model_name"} <= settings.used_items().keys()


def test_without_cuda_it_runs_on_the_cpu_and_says_so(
    settle: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert settle(cpu=False, silent=False).cpu is True
    assert "No CUDA device" in capsys.readouterr().err
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    assert settle(cpu=False).cpu is False


def test_both_spellings_of_ndcg(settle: Callable[..., Any]) -> None:
    names = ["nDCG@5", "NDCG@3", "P@1"]
    assert settle(monitor_metrics=names).monitor_metrics == ["nDCG@5", "nDCG@3", "P@1"]
    assert settle(monitor_metrics=names, linear=True).monitor_metrics == ["NDCG@5", "NDCG@3", "P@1"]


def test_a_run_folder_stands_for_its_checkpoint(settle: Callable[..., Any], tmp_path: Path) -> None:
    settle = functools.partial(settle, trust_code=True)
    with pytest.raises(CheckpointError, match=r"last\.ckpt is missing"):
        settle(resume=str(tmp_path))
    for name in ("last.ckpt", "best_model.ckpt", "model_1.ckpt", "linear_pipeline.pickle"):
        (tmp_path / name).touch()
    attention_xml = {"model_name": "AttentionXML", "network_config": {"rnn_dim": 8, "linear_size": [4]}}
    for changes, name in (
        ({"resume": str(tmp_path)}, "last.ckpt"),
        ({"checkpoint_path": str(tmp_path)}, "last.ckpt"),
        ({"resume": str(tmp_path), "eval": True}, "best_model.ckpt"),
        ({"checkpoint_path": str(tmp_path), "eval": True, "linear": True}, "linear_pipeline.pickle"),
        ({"checkpoint_path": str(tmp_path), "eval": True, **attention_xml}, "model_1.ckpt"),
    ):
        assert settle(**changes).checkpoint_path == str(tmp_path / name)
    for model in ({"linear": True}, attention_xml):
        with pytest.raises(ConfigError, match="keep nothing"):
            settle(resume=str(tmp_path), **model)


@pytest.mark.parametrize("key", ["checkpoint_path", "resume"])
def test_a_pickle_is_refused_without_trust(settle: Callable[..., Any], tmp_path: Path, key: str) -> None:
    (tmp_path / "last.ckpt").touch()
    with pytest.raises(CheckpointError, match=r": a model of LibMultiLabel is a pickle[\s\S]*--trust-code"):
        settle(**{key: str(tmp_path)})
    assert settle(trust_code=True, **{key: str(tmp_path)}).checkpoint_path == str(tmp_path / "last.ckpt")


def test_log_lines_are_shown_unless_silent_and_handlers_removed(capsys: pytest.CaptureFixture[str]) -> None:
    before = list(logging.getLogger().handlers)
    with library_log(silent=False):
        logging.getLogger("libmultilabel").info("Remove 3 instances")
    assert capsys.readouterr().err.count("Remove 3 instances") == 1
    with library_log(silent=True):
        logging.getLogger("libmultilabel").info("Remove 3 instances")
    assert capsys.readouterr().err == ""
    assert logging.getLogger().handlers == before


def test_labels_that_commas_join_are_separated_for_libmultilabel_too(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("0\tred boots\n1,2\tblue vest\n")
    config = load_config("linear_demo", {"training_file": str(tmp_path / "train.txt"), "val_size": 0.5,
                                         "val_file": None, "test_file": None,
                                         "cache_dir": str(tmp_path / "cache")})  # fmt: skip
    settings = library_settings(config, Run(tmp_path / "run", silent=True))
    assert Path(settings.training_file).read_text() == "0\tred boots\n1 2\tblue vest\n"
