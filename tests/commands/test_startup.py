"""Commands that train nothing start at once: no heavy import; on a quiet machine, little processor time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = ("torch", "libmultilabel", "lightning", "transformers", "pandas", "sklearn", "scipy", "numpy", "gensim", "nltk")
BUDGET_S = 0.5  # processor time of the whole process, Python's own start included; 0.2 where this was written
TRIES = 3

PROGRAM = """
import json, sys, time
from plant_plugin import cli
commands, heavy = json.loads(sys.argv[1])
ended = []
for command, *arguments in commands:
    try:
        getattr(cli, command).main(arguments, prog_name=command)
    except SystemExit as end:
        ended.append([end.code, [name for name in heavy if name in sys.modules]])
print()
print(json.dumps([ended, time.process_time()]))
"""

CONFIG = """
model_name: PLANT
training_file: demo:train
test_file: demo:test
network_config: {encoder: bigru}
"""


def start(*commands: tuple[str, ...]) -> tuple[list[tuple[int, list[str]]], float]:
    """In one process: each command's exit code and what heavy modules are there after it; seconds of processor time."""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps([commands, HEAVY])],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    ended, seconds = json.loads(done.stdout.splitlines()[-1])
    return [(code, loaded) for code, loaded in ended], seconds


LIGHT = [
    ("libmultilabel", "--help"),
    ("libmultilabel", "--version"),
    ("plant", "--help"),
    ("plant", "list"),
    ("plant", "validate", "CONFIG"),
    ("plant", "relevance", "--help"),
    ("plant", "prepare", "mimic3", "--help"),
    ("plant", "stats", "--help"),
    ("plant", "search", "--help"),
    ("plant", "evaluate", "--help"),
    ("plant", "compare", "--help"),
    ("plant", "predict", "--help"),
    ("plant", "explain", "--help"),
    ("plant", "label", "--help"),
    ("plant", "faithfulness", "--help"),
    ("plant", "plausibility", "--help"),
    ("plant", "doctor"),
]


def with_config(arguments: tuple[str, ...], folder: Path) -> tuple[str, ...]:
    path = folder / "small.yml"
    path.write_text(CONFIG, encoding="utf-8")
    return tuple(str(path) if argument == "CONFIG" else argument for argument in arguments)


def test_no_command_that_trains_nothing_imports_anything_heavy(tmp_path: Path) -> None:
    """All in one process, which takes half a second to start: the first that shows a module has imported it."""
    ended, _ = start(*(with_config(arguments, tmp_path) for arguments in LIGHT))
    for arguments, (code, loaded) in zip(LIGHT, ended, strict=True):
        assert code in ((0, 1) if arguments[-1] == "doctor" else (0, None))  # doctor: 1 where something is missing
        assert loaded == [], arguments


@pytest.mark.integration  # a clock: it says something only where nothing else runs
@pytest.mark.parametrize("arguments", LIGHT, ids=" ".join)
def test_takes_little_processor_time(arguments: tuple[str, ...], tmp_path: Path) -> None:
    assert min(start(with_config(arguments, tmp_path))[1] for _ in range(TRIES)) < BUDGET_S


def test_a_wrong_configuration_is_refused_without_heavy_imports(tmp_path: Path) -> None:
    path = tmp_path / "small.yml"
    path.write_text(CONFIG.replace("bigru", "bigru, hiden_size: 3"), encoding="utf-8")
    assert start(("libmultilabel", "--config", str(path)))[0] == [(2, [])]


def test_the_package_itself_imports_nothing_heavy() -> None:
    program = f"import sys, plant_plugin; print([name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"
