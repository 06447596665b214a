"""What the Dockerfile and the compose file say.

The steps of the former, as a script in a clean folder, make an environment in which `plant` works.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
import yaml

from plant_plugin.cli import plant

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


def test_the_health_check_is_well_when_the_model_answers() -> None:
    pytest.importorskip("fastapi", reason="needs the extra: pip install 'plant-plugin[serve]'")
    from quick_server import QUICK, Model, ready
    from running_server import TOKEN, Running

    from plant_plugin.serving.access import server_names
    from plant_plugin.serving.app import create_app

    told = dict(steps())["HEALTHCHECK"]
    program, *arguments = json.loads(told[told.index("CMD ") + len("CMD ") :])
    assert program == "python"
    assert "127.0.0.1:8000" in arguments[-1]  # the port that `plant serve` takes

    def status(port: int) -> int:
        command = [sys.executable, *(part.replace(":8000", f":{port}") for part in arguments)]
        return subprocess.run(command, capture_output=True, check=False).returncode

    model = Model()
    model.gate.clear()
    with Running(create_app(model, QUICK, server_names("0.0.0.0"), TOKEN), QUICK) as server:  # type: ignore[arg-type]
        assert status(server.port) != 0  # the model has not answered yet
        model.gate.set()
        ready(server)
        assert status(server.port) == 0  # which needs no token


def test_the_compose_file_serves_a_model() -> None:
    service = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))["services"]["plant"]
    name, *arguments = service["command"]
    flags = plant.commands[name].make_context(name, arguments).params
    [volume], [port] = service["volumes"], service["ports"]
    assert volume["target"] == str(flags["model"])
    assert port == f"127.0.0.1:{flags['port']}:{flags['port']}"
    assert list(service["environment"]) == ["PLANT_SERVE_TOKEN"]
    assert list(service["build"]["args"]) == [argument for step, argument in steps() if step == "ARG"]
    assert ("ENV", "XDG_CACHE_HOME=/tmp/cache") in steps()
    assert service["read_only"]
    assert service["tmpfs"] == ["/tmp:mode=1777"]  # where the cache lies


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
