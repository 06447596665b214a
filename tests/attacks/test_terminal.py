"""Labels, ids, texts and names of files that would write on the terminal by themselves."""

from __future__ import annotations

import io
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from plant_plugin.cli import plant

PAYLOADS = {
    "title": "\x1b]0;pwned\x07", "clear": "\x1b[2J\x1b[H", "colour": "\x1b[8mhidden\x1b[0m",
    "clipboard": "\x1b]52;c;cHduZWQ=\x07",
    "line": "fine\rpwned", "back": "pwned\x08\x08", "C1": "\x9b2Jpwned\x9d0;x\x9c", "turned": "\u202edenwp\u202c",
}  # fmt: skip
BAD = ("\x1b]", "\x1b[2J", "\x1b[H", "\x1b[8m", "\x07", "\r", "\x08", "\x9b", "\x9d", "\u202e")


class Terminal(io.StringIO):
    """What is written to it, as a terminal gets it."""

    encoding, errors = "utf-8", "strict"

    def isatty(self) -> bool:
        return True


def shown(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> str:
    """All that a command writes on a terminal."""
    terminal = Terminal()
    with monkeypatch.context() as patched:
        patched.setenv("TERM", "xterm-256color")
        patched.setattr(sys, "stdout", terminal)
        patched.setattr(sys, "stderr", terminal)
        with pytest.raises(SystemExit):
            plant.main(list(map(str, arguments)))
    return terminal.getvalue()


@pytest.mark.integration
@pytest.mark.parametrize("name", PAYLOADS)
def test_nothing_that_a_file_holds_acts_on_the_terminal(
    whole: Path, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch, tally: Callable[[str, bool], None]
) -> None:
    import csv
    import json

    payload = PAYLOADS[name]
    folder = tmp_path / f"run {payload.replace('/', '')}"
    shutil.copytree(whole, folder)
    (folder / "logs.json").write_text("{torn")
    notes, table, words = (tmp_path / f"notes.{ending}" for ending in ("jsonl", "csv", "tsv"))
    text = f"sign3x {payload} sign5x"
    notes.write_text(json.dumps({"id": payload, "text": text, "labels": [f"L{payload}"]}) + "\n", encoding="utf-8")
    with open(table, "w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([["id", "text", f"labels{payload}"], [payload, text, f"L{payload}"]])
    words.write_text(f"L3\tname {payload.replace(chr(13), '')}\n", encoding="utf-8")
    model = ("--device", "cpu", "--names", words)
    for command in (
        ("stats", notes), ("stats", table), ("stats", f"{tmp_path}/{payload}.txt"), ("validate", folder / "logs.json"),
        ("predict", whole, notes, *model), ("predict", whole, notes, "--output", "csv", *model),
        ("predict", folder, notes, *model), ("explain", whole, notes, *model),
        ("explain", whole, notes, "--json", *model),
        ("label", whole, "L3", *model), ("label", whole, payload, *model), ("label", whole, "L3", "--json", *model),
        ("evaluate", payload), (payload,), ("prepare", payload), ("stats", f"--{payload}"),
    ):  # fmt: skip
        printed = shown(monkeypatch, *command)
        well = bool(printed) and not any(bad in printed.replace("\r\n", "\n") for bad in BAD)
        tally("control characters on the terminal", well)
        assert well, (command[0], [bad for bad in BAD if bad in printed], printed)
