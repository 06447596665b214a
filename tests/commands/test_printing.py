"""What reaches a terminal."""

from __future__ import annotations

import io
import logging
import sys
from collections.abc import Callable

import click
import pytest
from click.testing import CliRunner

from plant_plugin.cli import libmultilabel, plant
from plant_plugin.commands.printing import PrintingCommand, console, data_stream, styled
from plant_plugin.errors import DataError
from plant_plugin.report.printed import Printed, plain, printing

HOSTILE = "a\x1b]0;title\x07b\x1b[2Jc\rd\x9be\x08f\u202eg\x7fh\udc9bi"


class Terminal(io.StringIO):
    """What is written to it, as a terminal gets it."""

    encoding, errors = "utf-8", "strict"

    def isatty(self) -> bool:
        return True


def on_terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    made = Terminal()
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr(sys, "stdout", made)
    monkeypatch.setattr(sys, "stderr", made)
    return made


def raises() -> None:
    raise DataError(HOSTILE, where=HOSTILE, fix=HOSTILE)


WAYS: dict[str, Callable[[], object]] = {
    "echo": lambda: click.echo(HOSTILE),
    "echo of an error": lambda: click.echo(HOSTILE, err=True),
    "print": lambda: print(HOSTILE),
    "lines": lambda: sys.stdout.writelines([HOSTILE]),
    "log": lambda: logging.StreamHandler().emit(logging.makeLogRecord({"msg": HOSTILE})),
    "rich": lambda: console().print(HOSTILE, style="bold"),
    "data": lambda: data_stream().write(HOSTILE),
    "error": raises,
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_control_characters_reach_no_terminal(monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    terminal = on_terminal(monkeypatch)

    @click.command(cls=PrintingCommand)
    def command() -> None:
        WAYS[way]()

    with pytest.raises(SystemExit):
        command.main([])
    shown = terminal.getvalue()
    assert "title" in shown
    for bad in ("\x1b]", "\x07", "\x1b[2J", "\r", "\x9b", "\x08", "\u202e", "\x7f", "\udc9b"):
        assert bad not in shown
    assert "a\\u001b" in shown
    assert not isinstance(sys.stdout, Printed)


def test_every_program_prints_so() -> None:
    assert isinstance(plant, PrintingCommand)
    assert isinstance(libmultilabel, PrintingCommand)
    ended = CliRunner().invoke(plant, ["stats", "no\x1b[2J.txt"])
    assert "\x1b" not in ended.output
    assert ended.exit_code == 2


def test_our_own_colours_and_bars_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    from tqdm import tqdm

    terminal = on_terminal(monkeypatch)
    with printing():
        styled("ok", fg="green")
        console().print("bold", style="bold")
        for _ in tqdm(range(2), "states", leave=False, mininterval=0):
            pass
    shown = terminal.getvalue()
    assert shown.startswith("\x1b[32mok")
    assert "\x1b[1mbold" in shown
    assert "\rstates: 100%" in shown


def test_data_reach_a_pipe_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = io.StringIO()
    monkeypatch.setattr(sys, "stdout", pipe)
    with printing(), printing():
        assert data_stream() is plain(sys.stdout) is pipe
