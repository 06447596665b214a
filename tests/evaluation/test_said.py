"""Numbers as one would say them."""

from __future__ import annotations

import ast
import itertools
import re
from pathlib import Path

import pytest

import plant_plugin
from plant_plugin.evaluation.said import counted, signed

PACKAGE = Path(plant_plugin.__file__).parent


@pytest.mark.parametrize(
    ("value", "digits", "said"),
    [(-0.004, 2, "+0.00"), (-0.0, 2, "+0.00"), (0.0, 1, "+0.0"), (-0.006, 2, "-0.01"), (1234.5, 1, "+1234.5")],
)
def test_a_number_with_its_sign(value: float, digits: int, said: str) -> None:
    assert signed(value, digits) == said


@pytest.mark.parametrize(
    ("number", "more", "said"),
    [(0, None, "0 documents"), (1, None, "1 document"), (2000, None, "2,000 documents"), (2, "of them", "2 of them")],
)
def test_a_number_of_something(number: int, more: str | None, said: str) -> None:
    assert counted(number, "document", more) == said


NOUNS = (
    "batche|code|coder|document|entrie|epoch|file|hint|key|label|line|name|note|pair|passage|phrase|row|sentence|term|"
    "text|token|type|word"
)  # and an s
SEVERAL = re.compile(rf"^(?: [a-z]+)? (?:{NOUNS})s\b")


def numbers_before_nouns(source: str) -> list[str]:
    """What is printed by ``click.echo`` with a number, and after it something of which there may be one."""
    found = []
    for call in ast.walk(ast.parse(source)):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "echo":
            for text in (part for part in ast.walk(call) if isinstance(part, ast.JoinedStr)):
                pairs = itertools.pairwise(text.values)
                found += [
                    ast.unparse(text)
                    for value, after in pairs
                    if isinstance(value, ast.FormattedValue)
                    and ast.unparse(value.value) != "name"
                    and not (isinstance(value.value, ast.Call) and ast.unparse(value.value.func).endswith("counted"))
                    and not (value.format_spec and re.search("[.<>]", ast.unparse(value.format_spec)))  # means, tables
                    and isinstance(after, ast.Constant)
                    and SEVERAL.match(str(after.value))
                ]
    return found


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_what_a_command_prints_counts_one_as_one(path: Path) -> None:
    assert len(numbers_before_nouns(path.read_text(encoding="utf-8"))) == 0


def test_a_number_before_several_is_found() -> None:
    assert numbers_before_nouns('click.echo(f"so far {n:,} bad lines")')
    assert numbers_before_nouns('click.echo(f"{n} epochs, at most")')
    assert not numbers_before_nouns("click.echo(f\"{counted(n, 'bad line')} there\")")
    assert not numbers_before_nouns('click.echo(f"{name}: words")')


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.js")), ids=lambda path: path.name)
def test_pages_count_one_as_one(path: Path) -> None:
    # {0} of `counted` has a sentence for one beside it
    found = re.findall(rf"(?<!\{{\d)\}} (?:[a-z]+ )?(?:{NOUNS})s\b", path.read_text(encoding="utf-8"))
    assert len(found) == 0
