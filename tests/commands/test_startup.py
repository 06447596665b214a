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
command, arguments, heavy = json.loads(sys.argv[1])
try:
    getattr(cli, command).main(arguments, prog_name=command)
except SystemExit as end:
    code = end.code
loaded = [name for name in heavy if name in sys.modules]
print()
print(json.dumps([code, loaded, time.process_time()]))
"""

CONFIG = """
model_name: PLANT
training_file: demo:train
test_file: demo:test
network_config: {encoder: bigru}
"""


def start(command: str, *arguments: str) -> tuple[int, list[str], float]:
    """Exit code, heavy modules that were imported, and seconds of processor time."""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps([command, arguments, HEAVY])],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    code, loaded, seconds = json.loads(done.stdout.splitlines()[-1])
    return code, loaded, seconds


EVERY_LIGHT_COMMAND = pytest.mark.parametrize(
    "arguments",
    [
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
    ],
    ids=" ".join,
)


def start_with_config(arguments: tuple[str, ...], folder: Path) -> tuple[int, list[str], float]:
    path = folder / "small.yml"
    path.write_text(CONFIG, encoding="utf-8")
    return start(*(str(path) if argument == "CONFIG" else argument for argument in arguments))


@EVERY_LIGHT_COMMAND
def test_imports_nothing_heavy(arguments: tuple[str, ...], tmp_path: Path) -> None:
    code, loaded, _ = start_with_config(arguments, tmp_path)
    assert code in ((0, 1) if arguments[-1] == "doctor" else (0, None))  # doctor: 1 where something is missing
    assert loaded == []


@pytest.mark.integration  # a clock: it says something only where nothing else runs
@EVERY_LIGHT_COMMAND
def test_takes_little_processor_time(arguments: tuple[str, ...], tmp_path: Path) -> None:
    assert min(start_with_config(arguments, tmp_path)[2] for _ in range(TRIES)) < BUDGET_S


def test_a_wrong_configuration_is_refused_without_heavy_imports(tmp_path: Path) -> None:
    path = tmp_path / "small.yml"
    path.write_text(CONFIG.replace("bigru", "bigru, hiden_size: 3"), encoding="utf-8")
    code, loaded, _ = start("libmultilabel", "--config", str(path))
    assert code == 2
    assert loaded == []


def test_the_package_itself_imports_nothing_heavy() -> None:
    program = f"import sys, plant_plugin; print([name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"
