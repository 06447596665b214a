"""Every sentence that the desk's page or its server can show, taken from where it is said."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

from plant_plugin.errors import PlantError
from plant_plugin.model.coding_rules import CodingRules
from plant_plugin.model.sides import WORDS
from plant_plugin.serving.desk import page, people

DESK = Path(page.__file__).parent
SCRIPTS = ("texts.js", "desk.js", "lead.js")
TAGGED = re.compile(r"(?<![\w$])t`([^`]*)`")
COUNTED = re.compile(r'counted\([^"]*?"([^"]*)", "([^"]*)"')
HINTS = ("text", "what", "finer")  # what hints are put together from


def of_html() -> Iterator[str]:
    """The texts of the page but commands."""
    for shown in page.SHOWN.findall(re.sub(r"<code>.*?</code>", "", (DESK / "desk.html").read_text(encoding="utf-8"))):
        yield shown.strip()


def of_script(script: str) -> Iterator[str]:
    """What a script hands to t`…` and ``counted``."""
    for template in TAGGED.findall(script):
        values = iter(range(10))
        sentence = re.sub(r"\$\{[^{}]*\}", lambda _: f"{{{next(values)}}}", template)  # noqa: B023
        assert "$" not in sentence, f"a value with braces in {template!r}: give it a name first"
        yield sentence
    for one, more in COUNTED.findall(script):
        yield one
        yield more


def on_the_page() -> set[str]:
    """Every sentence that is said on the page."""
    scripts = "\n".join((DESK / name).read_text(encoding="utf-8") for name in SCRIPTS)
    return {*of_html(), *of_script(scripts)}


def sentence(node: ast.expr) -> str | None:
    """A text of Python as a catalogue has it; None: it is none."""
    values = iter(range(10))
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(
                str(part.value) if isinstance(part, ast.Constant) else f"{{{next(values)}}}" for part in parts
            )
    return None


def refusals(source: str) -> Iterator[str]:
    """What ``Refused`` and ``HTTPException`` say, where it is written at the spot."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            continue
        if node.func.id in ("Refused", "HTTPException"):
            said = sentence(node.args[0 if node.func.id == "Refused" else 1])
            if said is not None:
                yield said


def of_accounts() -> Iterator[str]:
    """What is wrong with a new account, and how to mend it."""
    tree = ast.parse(inspect.getsource(people))
    [add] = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == "add"]
    for node in ast.walk(add):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "ConfigError":
            values = [node.args[0], *(each.value for each in node.keywords if each.arg == "where")]
        elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "fix":
            values = [node.value]
        else:
            continue
        yield from filter(None, map(sentence, values))


def of_hints() -> Iterator[str]:
    """What the rules for codes say; a note has its words before it, and sides are words of their own."""
    yield from WORDS
    for node in ast.walk(ast.parse(inspect.getsource(CodingRules))):
        values: list[ast.expr] = []
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in HINTS:
            values = [node.value.body, node.value.orelse] if isinstance(node.value, ast.IfExp) else [node.value]
        elif isinstance(node, ast.Dict):
            values = [value for key, value in zip(node.keys, node.values, strict=True) if ast.unparse(key) == "'text'"]
            yield from (f"{sentence(each.elts[0])} {{0}}" for each in node.values if isinstance(each, ast.Tuple))
        elif isinstance(node, ast.Yield) and isinstance(node.value, ast.Tuple):
            values = node.value.elts
        yield from (said for said in map(sentence, values) if said and re.search(r"[^\W\d]{2}", said))


def by_the_server() -> set[str]:
    """Every sentence that the server hands to the page to be shown."""
    said = {one for module in DESK.glob("*.py") for one in refusals(module.read_text(encoding="utf-8"))}
    return {*said, *of_accounts(), *of_hints(), str(PlantError("{1}", where="{0}", fix="{2}").message)}
