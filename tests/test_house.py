"""What is true of the house besides the order of its rooms, which ``lint-imports`` checks."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tokenize
from pathlib import Path

import house
import pytest
from house import PACKAGE, PAGE, ROOT, layers, project, said

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOMS = sorted(path.name for path in PACKAGE.iterdir() if (path / "__init__.py").is_file())
BUDGET = project()["tool"]["plant_plugin"]["house"]
LATER = [module for module in BUDGET["tokens"] if module.endswith(".py")]  # modules that are not in their room's count
MODULES = sorted(PACKAGE.rglob("*.py"))

pytestmark = pytest.mark.skipif(not PAGE.is_file(), reason="CONTRIBUTING.md lies in a checkout only")


# What `tokenize` yields beside what a reader reads.
NO_TOKENS = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING,
             tokenize.ENDMARKER}  # fmt: skip


def tokens_of(path: Path) -> int:
    with path.open("rb") as source:
        return sum(token.type not in NO_TOKENS for token in tokenize.tokenize(source.readline))


def tokens_of_room(room: str) -> int:
    """Count the tokens of a room, or of a module that came later and has a ceiling of its own: ``data/shape.py``."""
    if room.endswith(".py"):
        return tokens_of(PACKAGE / room)
    modules = PACKAGE.glob("*.py") if room == "root" else (PACKAGE / room).rglob("*.py")
    return sum(tokens_of(path) for path in modules if path.relative_to(PACKAGE).as_posix() not in BUDGET["tokens"])


def lowest_ceilings() -> dict[str, int]:
    """The lowest ceiling that each room ever had, in the commits that changed ``pyproject.toml``; empty: no history."""

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(ROOT), *arguments]
        return subprocess.run(command, capture_output=True, text=True, encoding="utf-8").stdout

    lowest: dict[str, int] = {}
    try:
        commits = git("log", "--max-count=100", "--format=%H", "--", "pyproject.toml").split()
    except FileNotFoundError:  # no git here
        return lowest
    for commit in commits:
        budget = tomllib.loads(git("show", f"{commit}:pyproject.toml"))["tool"]["plant_plugin"]["house"]
        if "tokens" not in budget:  # ceilings in tokens begin after this commit
            break
        for room, ceiling in budget["tokens"].items():
            lowest[room] = min(ceiling, lowest.get(room, ceiling))
    return lowest


def test_thirteen_rooms_and_five_modules() -> None:
    assert len(ROOMS) <= 13
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


@pytest.mark.parametrize("room", [*ROOMS, "root", *LATER])
def test_a_room_keeps_to_its_tokens(room: str) -> None:
    assert room in BUDGET["tokens"], f"name a ceiling for {room} in [tool.plant_plugin.house.tokens]"
    assert tokens_of_room(room) <= BUDGET["tokens"][room], f"delete something in {room}/: its ceiling may only fall"


def test_every_ceiling_is_of_a_room_or_a_module() -> None:
    assert set(BUDGET["tokens"]) == {*ROOMS, "root", *LATER}
    assert all((PACKAGE / module).is_file() for module in LATER)


def test_ceilings_only_fall() -> None:
    lowest = lowest_ceilings()
    if not lowest:
        pytest.skip("there is no commit to compare with")
    raised = {room: f"{lowest[room]} -> {now}" for room, now in BUDGET["tokens"].items() if now > lowest.get(room, now)}
    assert not raised


def test_tokens_are_counted_without_comments_and_line_ends(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text("# why\n\ndef area(side):\n    return side * side  # of a square\n")
    assert tokens_of(module) == len("def area ( side ) : return side * side".split())


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


def test_only_its_room_names_the_first_plant() -> None:
    """The rest reaches it through ``registry.yaml``, as it reaches a user's network: docs/your_network.md."""
    names = re.compile(r"awd.?lstm|l2r|\branker|pretrain-lm|pretrain_lm", re.IGNORECASE)
    for path in MODULES:
        if path.relative_to(PACKAGE).parts[0] != "l2r":
            lines = enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
            assert [f"{path}:{number}: {line}" for number, line in lines if names.search(line)] == []


def test_every_module_has_its_test_in_the_mirrored_folder() -> None:
    modules = (path.relative_to(PACKAGE) for path in MODULES if path.name != "__init__.py")
    tests = [ROOT / "tests" / path.parent / f"test_{path.name}" for path in modules]
    assert [str(path.relative_to(ROOT)) for path in tests if not path.is_file()] == []


def test_few_values_without_a_type() -> None:
    found = sum(len(re.findall(r"\bAny\b", path.read_text(encoding="utf-8"))) for path in MODULES)
    assert found <= BUDGET["any"]


def test_the_page_shows_the_house_as_it_is() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert house.page(text) == text, "write it anew: python tests/house.py"
