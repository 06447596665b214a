"""What is true of the house besides the order of its rooms, which ``lint-imports`` checks."""

from __future__ import annotations

import ast
import re

import house
import pytest
from house import PACKAGE, PAGE, layers, project, said

ROOMS = sorted(path.name for path in PACKAGE.iterdir() if (path / "__init__.py").is_file())
BUDGET = project()["tool"]["plant_plugin"]["house"]
MODULES = sorted(PACKAGE.rglob("*.py"))

pytestmark = pytest.mark.skipif(not PAGE.is_file(), reason="CONTRIBUTING.md lies in a checkout only")


def lines_of(room: str) -> int:
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in (PACKAGE / room).rglob("*.py"))


def test_twelve_rooms_and_five_modules() -> None:
    assert len(ROOMS) <= 12
    assert len(list(PACKAGE.glob("*.py"))) <= 5
    assert {room for line in layers() for room in line} == {*ROOMS, "cli", "classifier", "files", "errors"}


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_says_what_it_holds_what_it_may_import_and_where_to_begin(room: str) -> None:
    holds, may, begin = said(room)[:3]
    assert holds.endswith(".")
    assert may.startswith("May import: ")
    found = re.search(r"Begin with :mod:`([\w.]+)`", begin)
    assert found is not None
    path = PACKAGE.parent.joinpath(*found[1].split("."))
    assert path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_keeps_to_its_lines(room: str) -> None:
    """Whoever goes over deletes something, or moves the budget in the same commit, in plain sight."""
    assert lines_of(room) <= BUDGET["lines"][room], f"delete something in {room}/, or move [tool.plant_plugin.house]"


def test_modules_and_functions_can_be_read_at_once() -> None:
    for path in MODULES:
        source = path.read_text(encoding="utf-8")
        assert len(source.splitlines()) <= BUDGET["module"], path
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                first = node.body[0]
                documented = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
                code = (node.end_lineno or 0) - (first.end_lineno if documented else node.lineno)
                assert code <= BUDGET["function"], f"{path}: {node.name} has {code} lines"


def test_few_values_without_a_type() -> None:
    found = sum(len(re.findall(r"\bAny\b", path.read_text(encoding="utf-8"))) for path in MODULES)
    assert found <= BUDGET["any"]


def test_the_page_shows_the_house_as_it_is() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert house.page(text) == text, "write it anew: python tests/house.py"
