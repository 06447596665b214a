"""A coder at the desk's real page who has a keyboard and no mouse, and the server that can be killed under them."""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
Said = dict[str, tuple[str, list[list[int]]]]  # label -> kind and spans
PROGRAM = "from plant_plugin.cli import plant; plant()"
BROKEN = """() => {  // words that stand on two lines, of all text that is seen
  const broken = [], walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walk.nextNode(); node; node = walk.nextNode()) {
    if (!node.parentElement.checkVisibility()) continue;
    for (const word of node.data.matchAll(/[\\p{L}\\p{N}]+/gu)) {
      const range = document.createRange();
      range.setStart(node, word.index);
      range.setEnd(node, word.index + word[0].length);
      if (new Set([...range.getClientRects()].map((box) => Math.round(box.top))).size > 1) broken.push(word[0]);
    }
  }
  return broken;
}"""


@contextmanager
def chromium() -> Iterator[Any]:
    """The browser; skips where it or what drives it is not there."""
    driver = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
    if CHROMIUM is None:
        pytest.skip("needs Chromium: apt-get install chromium")
    with driver.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


class Server:
    """``plant serve --desk`` as a process of its own, on a port that stays."""

    def __init__(self, run_folder: Path, desk: Path, log: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.url, self.log = f"http://127.0.0.1:{self.port}", log
        self.command = [sys.executable, "-c", PROGRAM, "serve", str(run_folder), "--desk", str(desk)]
        self.command += ["--port", str(self.port), "--device", "cpu"]
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(self.command, stderr=log, stdout=log)
        for _ in range(1200):
            assert self.process.poll() is None, self.log.read_text()
            try:
                if httpx.get(f"{self.url}/desk").status_code == 200:
                    return
            except httpx.TransportError:
                time.sleep(0.1)
        raise AssertionError("the server does not start")

    def kill(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(20)


class Robot:
    """Works through documents by keys alone, and notes what it did."""

    def __init__(self, browser: Any, url: str, token: str, width: int, locale: str = "en-US") -> None:
        self.page = browser.new_context(viewport={"width": width, "height": 800}, locale=locale).new_page()
        self.page.set_default_timeout(60_000)
        self.errors: list[str] = []
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", self._console)
        self.page.goto(f"{url}/desk")
        self.page.wait_for_selector("#sign-in:not([hidden])")
        self.page.keyboard.type(token)
        self.page.keyboard.press("Enter")
        self.done: dict[int, Said] = {}
        self.presses: dict[int, int] = {}  # decisions by document, those that were taken back too
        self.last: int | None = None

    def _console(self, message: Any) -> None:
        if message.type == "error" and "Content Security Policy" in message.text:
            self.errors.append(message.text)

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def look(self) -> dict[str, Any]:
        """The document that is shown, when it is another than the last one."""
        self.page.wait_for_function("last => doc !== null && doc.id !== last", arg=self.last)
        found: dict[str, Any] = self.page.evaluate(
            "({ id: doc.id, codes, words: words.map((one) => [one.start, one.end]) })"
        )
        return found

    def document(self, turn: int, between: Callable[[], None] = lambda: None) -> None:
        """Decide on everything that is suggested, mark, search, undo as the turn has it, and go on."""
        shown, said, presses = self.look(), Said(), 0
        predicted = [one for one in shown["codes"] if one["predicted"]]
        self.press(*["k"] * self.page.evaluate("current"))  # to the first code
        for place, code in enumerate(predicted):
            key, kind = (("e", "accept"), ("r", "reject"), ("a", "accept"))[(place + turn) % 3]
            self.press(key)
            said[code["label"]] = (kind, code["spans"] if key == "e" else [])
            presses += 1
            if place == 0:
                between()
        if turn % 4 == 1:
            presses += self._mark(shown, said)
        if turn % 5 == 0:
            presses += self._search(turn, said)
        if turn % 6 == 2 and predicted:
            label = self.page.evaluate("codes[current].label")
            before = said.get(label)
            self.press("a")
            presses += 1
            self.press("u")
            self.page.wait_for_function("() => waiting === 0")
            if before is None:
                said.pop(label, None)
            else:
                said[label] = before
        self.press("n")
        if self.page.evaluate("armed"):
            self.press("n")
        self.done[shown["id"]], self.presses[shown["id"]] = said, presses
        self.last = shown["id"]

    def _mark(self, shown: dict[str, Any], said: Said) -> int:
        """The third to the fifth word, by keys, for the code that is current."""
        label, kind, spans = self.page.evaluate(
            "[codes[current].label, codes[current].probability === null ? 'add' : 'accept', spansOf(codes[current])]"
        )
        self.press("m", "Home", "ArrowRight", "ArrowRight", "Shift+ArrowRight", "Shift+ArrowRight", "Enter", "Escape")
        marked = [shown["words"][2][0], shown["words"][4][1]]
        covered = [span for span in spans if span[0] > marked[1] or span[1] < marked[0]]
        touched = [span for span in spans if span not in covered]
        joined = [min([marked[0], *(one[0] for one in touched)]), max([marked[1], *(one[1] for one in touched)])]
        said[label] = (kind, sorted([*covered, joined]))
        return 1

    def _search(self, turn: int, said: Said) -> int:
        """A code that the desk does not know, as it is typed; the desk asks whether it shall be taken."""
        label = f"Z{turn:02}.9"
        self.press("/")
        self.page.keyboard.type(label)
        self.press("Enter")  # before anything is found
        self.page.wait_for_selector("#unknown[open]")
        self.press("Tab", "Enter")  # Enter alone would not take it
        self.page.wait_for_selector("#unknown", state="hidden")
        said[label] = ("add", [])
        return 1

    def rest(self) -> None:
        """Wait until everything is saved."""
        self.page.wait_for_function("() => waiting === 0")
        assert self.errors == []
