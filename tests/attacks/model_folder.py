"""A model folder with everything that one can hold, and `plant` asked about it in a process of its own."""

from __future__ import annotations

import contextlib
import logging
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from marked_task import marked_config, write_marked_splits

from plant_plugin.cli import plant
from plant_plugin.model.passages import EvidenceRule, write_rule
from plant_plugin.training.run import run

TEXT = "Filler1 sign3x mark3y filler2. Filler4 sign5x filler9 mark5y filler7."
SECONDS, MEBIBYTES = 60, 1500  # that one question may take, and of memory on top of what the tests hold
CRASHED = 70


class Ended(NamedTuple):
    """How a process ended."""

    code: int  # of its exit; below 0: the signal
    out: str
    error: str

    @property
    def refused(self) -> bool:
        """With one of our errors: a line of what is wrong, one of how to mend it, and no traceback."""
        lines = self.error.splitlines()
        told = bool(lines) and lines[0].startswith("Error: ") and len(lines) <= 2
        return self.code in (1, 2) and told and "Traceback" not in self.error


def write_whole(folder: Path) -> Path:
    """The folder of a run with a planted prior, planted scores, phrases, sentences, names, a rule for evidence."""
    write_marked_splits(folder)
    (folder / "label_names.tsv").write_text("".join(f"L{label}\tsign {label}\n" for label in range(15)))
    config = marked_config(folder, planted_scores__weight=1.0, label_set="named")
    run(config)
    write_rule(Path(config.checkpoint_dir), EvidenceRule("contribution", 0.3, 2, None))
    (folder / "note.txt").write_text(TEXT + "\n")
    return Path(config.checkpoint_dir)


def note_of(folder: Path) -> Path:
    """A file to predict, where no attack reaches it."""
    path = folder.parent / "note.txt"
    if not path.exists():
        path.write_text(TEXT + "\n")
    return path


def asked(*commands: Sequence[str]) -> Ended:
    """What `plant` says to these commands, one after the other until one fails, in a forked process."""
    with tempfile.TemporaryDirectory() as folder:
        names = [Path(folder, name) for name in ("out", "error")]
        child = os.fork()
        if child == 0:
            _answer(commands, *names)
        code = _code(child)
        return Ended(code, *(path.read_text(encoding="utf-8", errors="replace") for path in names))


def _answer(commands: Sequence[Sequence[str]], out: Path, error: Path) -> None:
    """In the child: never returns, and nothing of pytest runs on."""
    code = CRASHED
    try:
        with open(out, "w") as stdout, open(error, "w") as stderr:
            for number, stream in ((1, stdout), (2, stderr)):
                os.dup2(stream.fileno(), number)
            sys.stdout, sys.stderr = stdout, stderr
            logging.basicConfig(stream=stderr, format="%(message)s", level="WARNING", force=True)  # as without pytest
            signal.alarm(SECONDS)
            held = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
            resource.setrlimit(resource.RLIMIT_AS, (held + (MEBIBYTES << 20),) * 2)
            code = _exit_code(commands)
            stdout.flush()
    finally:
        os._exit(code)


def _exit_code(commands: Sequence[Sequence[str]]) -> int:
    for command in commands:
        try:
            plant.main(list(command), prog_name="plant")
        except SystemExit as stop:
            if stop.code:
                return int(stop.code)
        except BaseException:
            traceback.print_exc()
            return CRASHED
    return 0


def _code(child: int) -> int:
    until = time.monotonic() + 2 * SECONDS  # its own alarm comes first, unless it is stuck beyond signals
    while time.monotonic() < until:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    with contextlib.suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return -signal.SIGALRM
