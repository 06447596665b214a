"""Thousands of spoiled inputs, asked one after the other in a process that may crash, and what each came to.

An input has not got the better of the program where

- a command refuses it with one of our errors, and leaves nothing half-written;
- what was read of it is what was read of the whole one, or what a plain reader of its format reads;
- or something is said that was not said of the whole one.

A traceback, a crash, more than 20 seconds, a word of a text in what a command says, a control character on the
terminal, code of the input that ran, and other content without a word of it are falls.
"""

from __future__ import annotations

import io
import json
import logging
import os
import random
import re
import resource
import shutil
import signal
import sys
import time
import traceback
import unicodedata
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

from mutations import CANARY, spoil_folder

from plant_plugin.errors import PlantError

SECONDS, MEBIBYTES, CRASHED = 20, 1500, 70
SAID_ONCE = 400  # characters of a fall that are kept
NOTE = re.compile(rf"(?i)\b{CANARY}[a-z]{{3,}}|pt77\d{{2,}}")
CONTROLS = re.compile("(?!\r\n)[\0-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]")
DIGITS = re.compile(r"[\d,.:%]+")
LOSSES = re.compile("without|left out|not read|more than|passed over|missing|none of")
OUT = "out"  # what a command may write, beside the input


class Answer(NamedTuple):
    """How a command ended, what it said, and what was read."""

    code: int
    out: str
    error: str
    read: Any = None


class Terminal(io.StringIO):
    """What is written to it, as a terminal gets it."""

    encoding, errors = "utf-8", "backslashreplace"

    def isatty(self) -> bool:
        return True


@dataclass(frozen=True)
class Subject:
    """A kind of input.

    Attributes:
        name: Of the kind.
        write: Writes a whole one into a folder.
        ask: Asks a command about the folder.
        plain: What a plain reader says of a folder; raises where it is none of the format. None: there is no such.
        shows: The command may show texts.
        spoil: Spoils a folder.
        judge: What else is wrong with an answer, in words.
        writes_out: The command writes the folder ``out``.
    """

    name: str
    write: Callable[[Path], None]
    ask: Callable[[Path], Answer]
    plain: Callable[[Path], Any] | None = None
    shows: bool = False
    spoil: Callable[[Path, random.Random], object] = spoil_folder
    judge: Callable[[Path, Answer, Answer], str] | None = None

    @property
    def group(self) -> str:
        return self.name.partition(":")[0]


def asked(*arguments: object) -> Answer:
    """Ask `plant` in this process, as on a terminal."""
    from plant_plugin.cli import plant

    out, error, code = Terminal(), Terminal(), 0
    with mock.patch.object(sys, "stdout", out), mock.patch.object(sys, "stderr", error):
        try:
            plant.main([str(each) for each in arguments], prog_name="plant")
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
        except BaseException as problem:
            if isinstance(problem, TimeoutError):
                raise
            traceback.print_exc()
            code = CRASHED
    return Answer(code, out.getvalue(), error.getvalue())


def asked_and_read(read: Callable[[], Any], *arguments: object) -> Answer:
    """What was read is known only where the command ended well; what reading says counts as said."""
    answer = asked(*arguments)
    if answer.code:
        return answer
    with mock.patch.object(sys, "stderr", Terminal()) as error:
        return answer._replace(read=read(), error=answer.error + error.getvalue())


def squeezed(lines: str) -> set[str]:
    """What is said, without numbers, but for those of what was passed over."""
    return {line.strip() if LOSSES.search(line) else DIGITS.sub("#", line).strip() for line in lines.splitlines()}


def fall(subject: Subject, folder: Path, whole: Answer, answer: Answer, left: Sequence[str]) -> str:
    """What is wrong, in words; else how it was survived: ``refused``, ``same``, ``said`` or ``another``."""
    everything = answer.out + answer.error
    if answer.code not in (0, 1, 2) or "Traceback" in everything:
        return f"FALL traceback, code {answer.code}: {everything[-SAID_ONCE:]}"
    checked = answer.error if subject.shows and answer.code == 0 else everything
    if noted := NOTE.search(checked):
        return f"FALL a text: {noted[0]} in {checked[-SAID_ONCE:]}"
    if control := CONTROLS.search(re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", everything)):
        return f"FALL control character {control[0]!r}"
    if (folder / "sang").exists():
        return "FALL code of the input ran"
    if hidden := [name for name in left if ".part" in name or name.rpartition("/")[2].startswith(".tmp")]:
        return f"FALL left behind: {hidden}"
    if subject.judge is not None and (wrong := subject.judge(folder, whole, answer)):
        return f"FALL {wrong}"
    if answer.code:
        errors = [line for line in answer.error.splitlines() if line.startswith("Error: ")]
        if len(errors) != 1:
            return f"FALL no error of ours: {answer.error[-SAID_ONCE:]}"
        if any(name.startswith(OUT) for name in left):
            return f"FALL refused, and written: {left}"
        return "refused"
    if answer.read == whole.read:
        return "same"
    if subject.plain is not None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                says = subject.plain(folder)
        except Exception as problem:
            says = f"{type(problem).__name__} {str(problem)[:80]}"
        if says is True or says == answer.read:
            return "another"
    else:
        says = "-"
    if new := squeezed(everything) - squeezed(whole.out + whole.error):
        return f"said {sorted(new)[0][:100]}"
    return f"FALL silent: {differing(answer.read, whole.read)}; the file says {str(says)[:100]}"


def differing(one: Any, other: Any) -> str:
    """Say where two values begin to differ."""
    if isinstance(one, list | tuple) and isinstance(other, list | tuple) and len(one) == len(other):
        return next((differing(*pair) for pair in zip(one, other, strict=True) if pair[0] != pair[1]), "")
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        return next((f"{key}: {differing(one[key], other[key])}" for key in one if one[key] != other[key]), "")
    left, right = str(one), str(other)
    place = next((n for n, pair in enumerate(zip(left, right, strict=False)) if pair[0] != pair[1]), 0)
    begin = max(0, place - 30)
    return f"{left[begin : place + 60]!r} in the place of {right[begin : place + 60]!r}"


def one_input(subject: Subject, original: Path, whole: Answer, place: Path, seed: object) -> str:
    """Spoil a copy, ask about it, and say what came of it."""
    folder = place / "input"
    shutil.copytree(original, folder, symlinks=True)
    subject.spoil(folder, random.Random(f"{subject.name} {seed}"))
    before = {str(path.relative_to(place)) for path in place.rglob("*")}
    began = time.monotonic()
    signal.signal(signal.SIGALRM, _too_long)
    signal.alarm(SECONDS)
    try:
        answer = subject.ask(folder)
    except TimeoutError:
        return f"FALL more than {SECONDS} seconds"
    except PlantError as error:
        answer = Answer(2, "", f"Error: {error.format_message()}")
    except Exception:
        answer = Answer(CRASHED, "", traceback.format_exc())
    finally:
        signal.alarm(0)
    left = [str(path.relative_to(place)) for path in place.rglob("*") if str(path.relative_to(place)) not in before]
    outcome = fall(subject, folder, whole, answer, left)
    seconds = time.monotonic() - began
    return outcome if seconds < SECONDS else f"FALL {seconds:.0f} seconds"


def _too_long(*_: object) -> None:
    raise TimeoutError


def run_inputs(subjects: Sequence[Subject], seeds: Sequence[object], place: Path) -> list[tuple[str, object, str]]:
    """What came of each subject under each seed; a crash costs the one that it came in."""
    place.mkdir(parents=True)
    jobs = [(number, seed) for number in range(len(subjects)) for seed in seeds]
    path, done = place / "outcomes.jsonl", list[list[Any]]()
    while len(done) < len(jobs):
        child = os.fork()
        if child == 0:
            _work(subjects, jobs[len(done) :], place, path)
        code = _waited(child, path)
        if (place / "failed").exists():  # an error of the attack itself
            raise AssertionError((place / "failed").read_text())
        done = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        if len(done) < len(jobs):
            number, seed = jobs[len(done)]
            done.append([number, seed, f"FALL the process ended: {code}"])
            with open(path, "a") as stream:
                stream.write(json.dumps(done[-1]) + "\n")
    return [(subjects[number].name, seed, outcome) for number, seed, outcome in done]


def _waited(child: int, path: Path) -> int:
    """Wait as long as something is written every now and then."""
    size, since = -1, time.monotonic()
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        now = path.stat().st_size if path.exists() else 0
        if now != size:
            size, since = now, time.monotonic()
        elif time.monotonic() - since > 6 * SECONDS:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return -signal.SIGALRM
        time.sleep(0.02)


def _work(subjects: Sequence[Subject], jobs: Sequence[tuple[int, object]], place: Path, path: Path) -> None:
    """In the child: never returns."""
    try:
        logging.getLogger().handlers.clear()
        os.environ.update(TERM="xterm-256color", COLUMNS="200", HF_HUB_OFFLINE="1", XDG_CACHE_HOME=str(place / "cache"),
                          CANARY=str(place / "input" / "sang"))  # fmt: skip
        os.environ.pop("PLANT_LIMITS", None)
        held = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        resource.setrlimit(resource.RLIMIT_AS, (held + (MEBIBYTES << 20),) * 2)
        wholes: dict[int, tuple[Path, Answer]] = {}
        with open(path, "a") as stream:
            for number, seed in jobs:
                if number not in wholes:
                    wholes[number] = _whole(subjects[number], place, number)
                inside = place / f"work{number}"
                outcome = one_input(subjects[number], *wholes[number], inside, seed)
                shutil.rmtree(inside, ignore_errors=True)
                stream.write(json.dumps([number, seed, outcome]) + "\n")
                stream.flush()
        os._exit(0)
    except BaseException:
        (place / "failed").write_text(traceback.format_exc())
    finally:
        os._exit(CRASHED)


def _whole(subject: Subject, place: Path, number: int) -> tuple[Path, Answer]:
    original = place / f"whole{number}"
    if not original.exists():
        original.mkdir()
        subject.write(original)
    copy = place / f"work{number}" / "input"
    shutil.rmtree(copy.parent, ignore_errors=True)
    shutil.copytree(original, copy, symlinks=True)
    answer = subject.ask(copy)
    if answer.code:
        raise AssertionError(f"{subject.name}: the whole one is refused: {answer}")
    shutil.rmtree(copy.parent)
    return original, answer


def words(text: str) -> str:
    """A text as it counts: its normal form."""
    return unicodedata.normalize("NFC", text)
