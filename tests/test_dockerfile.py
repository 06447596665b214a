"""What the Dockerfile says: its steps, as a script in a clean folder, make an environment in which `plant` works."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
OF_THE_SYSTEM = ("apt-get ", "useradd ")  # RUN lines that need root and Debian: not run here
PREFIX = "/opt/plant"


def steps() -> list[tuple[str, str]]:
    """Instruction and argument of each line that is no comment."""
    lines = (ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines()
    told = [line.partition(" ") for line in lines if line and not line.startswith("#")]
    return [(instruction, argument) for instruction, _, argument in told]


def copied() -> list[str]:
    """What comes from the checkout."""
    own = [argument.split()[:-1] for name, argument in steps() if name == "COPY" and not argument.startswith("--from")]
    return [source for sources in own for source in sources]


def test_it_ends_as_a_user_with_the_command() -> None:
    told = dict(steps())  # the last of each
    assert told["FROM"].split()[0] == "python:3.11-slim"
    assert told["USER"] == "plant"
    assert told["ENTRYPOINT"] == '["plant"]'
    assert not any(line.endswith("\\") for _, line in steps())  # the script below reads lines


def test_only_what_is_copied_is_sent_to_the_builder() -> None:
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert lines[1] == "*"
    assert sorted(line[1:] for line in lines if line.startswith("!")) == sorted(copied())
    assert all((ROOT / source).exists() for source in copied())


@pytest.mark.packaging
def test_its_steps_make_an_environment_where_plant_works(tmp_path: Path) -> None:
    """RUN as commands, COPY as copies; in place of the image's Python this one, in place of its root a folder."""
    prefix, source, skipped = f"{tmp_path}{PREFIX}", tmp_path / "source", []
    source.mkdir()
    kept = ("PYTHONPATH", "VIRTUAL_ENV")
    environment = {key: value for key, value in os.environ.items() if key not in kept}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    for instruction, argument in steps():
        if instruction == "COPY" and not argument.startswith("--from"):
            for name in argument.split()[:-1]:
                if (ROOT / name).is_dir():
                    shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
                else:
                    shutil.copy(ROOT / name, source)
        elif instruction == "RUN" and argument.startswith(OF_THE_SYSTEM):
            skipped.append(argument)
        elif instruction == "RUN":
            command = argument.replace(PREFIX, prefix)
            done = subprocess.run(
                command, shell=True, cwd=source, env=environment, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    warnings.warn(f"not run, as they need root and Debian: {'; '.join(skipped)}", stacklevel=1)
    shutil.rmtree(source)  # the image that is left has the environment alone
    for arguments, told in ((["--help"], "serve"), (["serve", "--help"], "--port"), (["list", "networks"], "PLANT")):
        done = subprocess.run(
            [f"{prefix}/bin/plant", *arguments],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-2000:]
        assert told in done.stdout
