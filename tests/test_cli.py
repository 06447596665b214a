"""The two commands as a shell sees them."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest


@pytest.mark.parametrize(("words", "found"), [("plant tra", "train"), ("plant list conf", "configurations")])
def test_shells_complete_commands_and_choices(words: str, found: str) -> None:
    typed = {"_PLANT_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    code = "from plant_plugin.cli import plant; plant(prog_name='plant')"
    told = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **typed}, capture_output=True, text=True, check=True
    )
    assert told.stdout.splitlines() == [f"plain,{found}"]


def test_what_other_packages_warn_of_is_not_shown() -> None:
    code = """
import warnings, plant_plugin
warnings.warn("pkg_resources is deprecated as an API.", UserWarning)
warnings.warn("`isinstance(treespec, LeafSpec)` is deprecated, use another", FutureWarning)
warnings.warn("mine", UserWarning)
"""
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stderr
    assert "UserWarning: mine" in told
    assert told.count("Warning:") == 1
