from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from plant_plugin.config import load_config

from plant_plugin.errors import ConfigError
from plant_plugin.host.settings import library_log, library_settings
from plant_plugin.run import Run


@pytest.fixture
def settle(settings_for: Callable[..., dict[str, Any]], tmp_path: Path) -> Callable[..., Any]:
    def make(*, silent: bool = True, **changes: Any) -> Any:
        values = settings_for(model_name="KimCNN", silent=silent, **changes)
        return library_settings(load_config(None, values), Run(tmp_path / "run", silent=silent))

    return make


def test_libmultilabel_finds_its_own_keys(settle: Callable[..., Any], tmp_path: Path) -> None:
    settings = settle(network_config={"filter_sizes": [2]})
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


def test_a_run_to_resume_is_its_last_checkpoint(settle: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "last.ckpt").touch()
    assert settle(resume=str(tmp_path)).checkpoint_path == str(tmp_path / "last.ckpt")


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        ({"checkpoint_path": "none.ckpt"}, "checkpoint_path: none.ckpt"),
        ({"label_file": "none.txt"}, "label_file: none.txt"),
        ({"vocab_file": "none.txt"}, "vocab_file: none.txt"),
        ({"embed_file": None}, "embed_file"),
        ({"eval": True}, "eval"),
        ({"training_file": None}, "training_file"),
        ({"model_name": "XMLCNN", "seed": 3}, "seed"),
        ({"data_format": "svm"}, "data_format"),
        ({"linear": True, "save_positive_predictions": True, "save_k_predictions": 3}, "save_positive_predictions"),
    ],
)
def test_what_cannot_run_is_refused_before_reading(
    changes: dict[str, Any], where: str, settings_for: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    def settle() -> None:
        # Whoever notices first: the check of the configuration, or that of the seam.
        config = load_config(None, settings_for(**{"model_name": "KimCNN", **changes}))
        library_settings(config, Run(tmp_path / "run", silent=True))

    with pytest.raises(ConfigError) as caught:
        settle()
    assert where in str(caught.value)


def test_marked_log_lines_are_repeated_and_handlers_removed(capsys: pytest.CaptureFixture[str]) -> None:
    before = list(logging.getLogger().handlers)
    with library_log(silent=False):
        logging.getLogger("libmultilabel").info("Remove 3 instances", extra={"collect": True})
    assert capsys.readouterr().err.count("Remove 3 instances") == 2
    with library_log(silent=True):
        logging.getLogger("libmultilabel").info("Remove 3 instances", extra={"collect": True})
    assert capsys.readouterr().err == ""
    assert logging.getLogger().handlers == before
