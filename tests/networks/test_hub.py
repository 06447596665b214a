"""Hubs that nobody has named, and libraries that are silent."""

from __future__ import annotations

import importlib
import logging
import os
import subprocess
import sys
import warnings

import pytest

from plant_plugin.networks.hub import LOUD, OFF, SILENT, quiet, stay_off

HOSTILE_PACKAGE = "raise SystemExit('code of a hub ran')"


def test_compiled_code_of_a_hub_cannot_be_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "kernels", None)  # what is there already stays: here a folder of tests
    monkeypatch.delitem(sys.modules, "kernels")
    stay_off()
    with pytest.raises(ImportError):
        importlib.import_module("kernels")
    assert all(os.environ[name] == value for name, value in OFF.items())


@pytest.mark.integration  # imports transformers, bitsandbytes and peft in a process of its own
def test_whatever_reads_a_language_model_stays_off(tmp_path: object) -> None:
    """A package of that name is installed, and bitsandbytes would fetch code by it when it is imported."""
    (tmp_path / "kernels.py").write_text(HOSTILE_PACKAGE)  # type: ignore[operator]
    code = (
        "import plant_plugin.networks.backbone.loading, importlib.util, sys; import transformers; "
        "assert importlib.util.find_spec('kernels') is None; "
        "from transformers.utils import is_kernels_available; assert not is_kernels_available(); "
        "exec('try: import bitsandbytes, peft\\nexcept ImportError: pass')"
    )
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    assert "kernels" not in done.stderr


def test_a_silent_block_prints_no_warnings(capsys: pytest.CaptureFixture[str]) -> None:
    levels = {name: logging.getLogger(name).level for name in LOUD}
    last = logging.lastResort
    assert last is not None
    with quiet(True):
        assert last.level == logging.ERROR
        for name in LOUD:
            assert not logging.getLogger(f"{name}.part").isEnabledFor(logging.WARNING)
        with warnings.catch_warnings(record=True) as heard:
            warnings.warn("advice", stacklevel=1)
        assert not heard
        assert all(os.environ[name] == value for name, value in SILENT.items())
    assert {name: logging.getLogger(name).level for name in LOUD} == levels
    assert last.level == logging.WARNING
    assert not any(name in os.environ for name in SILENT)


def test_a_block_that_is_not_silent_changes_nothing() -> None:
    with quiet(False), warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        warnings.warn("advice", stacklevel=1)
    assert heard
