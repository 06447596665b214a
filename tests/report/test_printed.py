"""What a process that a command has started writes on the terminal; commands: tests/commands/test_printing.py."""

from __future__ import annotations

import io
import json
import logging
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from plant_plugin.report.printed import Printed, plain, printable, printing

HOSTILE = "a\x1b]0;title\x07b\x1b[2Jc\rd\x9be\x08f\u202eg\x7fh\udc9bi"


def test_lines_tabs_and_json_stay() -> None:
    text = "a\tb\nc\r\nd é 中 🙂"
    assert printable(text) == text
    content = {"label": HOSTILE.replace("\udc9b", "")}
    assert json.loads(printable(json.dumps(content, ensure_ascii=False))) == content


def test_a_process_of_another_device_prints_so(monkeypatch: pytest.MonkeyPatch) -> None:
    from plant_plugin.training import devices

    streams = io.StringIO(), io.StringIO()
    monkeypatch.setattr(sys, "stdout", streams[0])
    monkeypatch.setattr(sys, "stderr", streams[1])
    for name in ("RANK", "LOCAL_RANK"):
        monkeypatch.setenv(name, "0")

    def work() -> None:
        print(HOSTILE)
        logging.StreamHandler().emit(logging.makeLogRecord({"msg": HOSTILE}))

    monkeypatch.setattr(devices, "_member", lambda work, settings: work())
    devices._other(0, work, SimpleNamespace(), {})  # type: ignore[arg-type]
    assert [stream.getvalue() for stream in streams] == 2 * [f"{printable(HOSTILE)}\n"]
    assert not isinstance(sys.stdout, Printed)


def test_the_log_of_a_trial_is_written_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ray", reason="needs the extra `search`")
    from plant_plugin.training.search import search

    plan: Any = SimpleNamespace(base=SimpleNamespace(val_metric="P@1"), configuration=lambda drawn: {}, mode="max")
    monkeypatch.setattr(search.tune, "get_context", lambda: SimpleNamespace(get_trial_name=lambda: "0001"))
    monkeypatch.setattr(search, "train", lambda folder: print(HOSTILE, file=sys.stderr))
    search.run_trial({}, plan, tmp_path, os.getcwd())
    assert (tmp_path / "0001" / search.LOG).read_text() == f"{printable(HOSTILE)}\n"


WORKERS = """
import sys, time
import plant_plugin.relevance.cluster as shared
with shared.cluster("local", cores=1):
    import ray
    def work():
        print({0!r}, flush=True)
        print({0!r}, file=sys.stderr, flush=True)
        return 1
    assert ray.get(ray.remote(work).remote()) == 1
    time.sleep(2)  # in which Ray would have sent it on
"""


@pytest.mark.integration  # starts a Ray of its own
def test_workers_of_a_cluster_print_nothing() -> None:
    pytest.importorskip("ray", reason="needs the extra `ray`")
    # Of a test before; Ray's own processes would say that they heed it.
    environment = {name: value for name, value in os.environ.items() if name != "RAY_BACKEND_LOG_LEVEL"}
    command = [sys.executable, "-c", WORKERS.format("title\x1b[2J")]
    ended = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


def test_a_block_in_a_block_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = io.StringIO()
    monkeypatch.setattr(sys, "stdout", pipe)
    with printing(), printing():
        assert plain(sys.stdout) is pipe
