"""Pictures of the desk's real page for docs/desk.md, on made-up notes.

    python examples/made_up_notes.py --documents 100 --labels 60 --seed 5 --out notes
    python benchmarks/desk_pictures.py RUN_FOLDER notes/test.txt

RUN_FOLDER is a run of ``plant_demo.yml``. It serves the model, sits down at the desk in Chromium and writes
``docs/figures/desk.png`` and ``desk_phone.png``.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx
from PIL import Image
from playwright.sync_api import Page, sync_playwright

from plant_plugin.data.tables import read_any
from plant_plugin.serving.desk.store import Desk

FIGURES = Path(__file__).resolve().parents[1] / "docs" / "figures"
PORT, COLOURS = 8765, 96
PROGRAM = "from plant_plugin.cli import plant; plant()"


def sit(page: Page, token: str) -> None:
    """Sign in, decide on two codes and mark words for a third."""
    page.goto(f"http://127.0.0.1:{PORT}/desk")
    page.wait_for_selector("#sign-in:not([hidden])")
    page.keyboard.type(token)
    page.keyboard.press("Enter")
    page.wait_for_function("() => doc !== null")
    for key in ("e", "r", "m", "Shift+ArrowRight", "Shift+ArrowRight"):
        page.keyboard.press(key)
    page.wait_for_function("() => waiting === 0")


def picture(page: Page, name: str) -> None:
    """Write what the window shows in few colours."""
    path = FIGURES / name
    page.screenshot(path=path)
    Image.open(path).convert("RGB").quantize(COLOURS).save(path, optimize=True)
    print(path.name, path.stat().st_size, "bytes")


def main() -> None:
    run_folder, texts = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "desk.sqlite"
        desk = Desk(path, make=True)
        tokens = [desk.people.add(name) for name in ("ana", "berta")]
        notes = read_any(texts).texts
        desk.add_documents((str(number), text) for number, text in enumerate(notes, 1))
        command = [sys.executable, "-c", PROGRAM, "serve", run_folder, "--desk", str(path), "--port", str(PORT)]
        server = subprocess.Popen([*command, "--names", "icd10"])
        try:
            while True:
                try:
                    httpx.get(f"http://127.0.0.1:{PORT}/desk")
                    break
                except httpx.TransportError:
                    time.sleep(0.2)
            with sync_playwright() as driver:
                browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
                for token, width, name in zip(tokens, (1280, 390), ("desk.png", "desk_phone.png"), strict=True):
                    page = browser.new_context(viewport={"width": width, "height": 720}).new_page()
                    sit(page, token)
                    picture(page, name)
                browser.close()
        finally:
            server.terminate()
            server.wait(20)


if __name__ == "__main__":
    main()
