"""The house as a picture and a table for CONTRIBUTING.md, made from contracts and from what rooms say of themselves.

``python tests/house.py`` writes both.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "plant_plugin"
PAGE = ROOT / "CONTRIBUTING.md"
BEGIN, END = "<!-- the house, written by tests/house.py -->", "<!-- end of the house -->"
WIDTH = 78


def project() -> dict:
    """``pyproject.toml``."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def layers() -> list[list[str]]:
    """Rooms by line, the highest first, from the contract."""
    contracts = project()["tool"]["importlinter"]["contracts"]
    (rooms,) = (contract["layers"] for contract in contracts if contract["name"] == "rooms")
    return [line.split(" | ") for line in rooms]


def said(room: str) -> list[str]:
    """What a room's docstring says, by line: what it holds, what it may import, where to begin."""
    path = PACKAGE / room / "__init__.py"
    path = path if path.is_file() else PACKAGE / f"{room}.py"
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return [line for line in text.splitlines() if line]


def house() -> str:
    """The block of CONTRIBUTING.md."""
    picture = []
    for line in layers():
        inner = WIDTH - 2 - (len(line) - 1)
        widths = [inner // len(line) + (place < inner % len(line)) for place in range(len(line))]
        picture.append("+" + "+".join("-" * width for width in widths) + "+")
        picture.append("|" + "|".join(room.center(width) for room, width in zip(line, widths, strict=True)) + "|")
    picture.append("+" + "-" * (WIDTH - 2) + "+")
    rows = ["| room | holds | begin with |", "|---|---|---|"]
    for room in (room for line in layers() for room in line if (PACKAGE / room).is_dir()):
        holds, _, begin = said(room)[:3]
        module = begin.partition(":mod:`plant_plugin.")[2].partition("`")[0].replace(".", "/")
        rows.append(f"| `{room}/` | {holds.replace('``', '`')} | `{module}.py` |")
    return "\n".join([BEGIN, "", "```text", *picture, "```", "", *rows, "", END])


def page(text: str) -> str:
    """CONTRIBUTING.md with the block as it has to be."""
    before, _, rest = text.partition(BEGIN)
    return before + house() + rest.partition(END)[2]


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
