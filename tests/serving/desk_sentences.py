"""Every sentence that the desk's page or its server can show, taken from where it is said."""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType

from plant_plugin import errors
from plant_plugin.errors import PlantError
from plant_plugin.model.coding_rules import CodingRules
from plant_plugin.model.sides import WORDS
from plant_plugin.serving.desk import opening, page, people

DESK = Path(page.__file__).parent
SCRIPTS = ("texts.js", "desk.js", "lead.js")
TAGGED = re.compile(r"(?<![\w$])t`([^`]*)`")
COUNTED = re.compile(r'counted\([^"]*?"([^"]*)", "([^"]*)"')
PLACES = re.compile(r"\{\d\}")  # of values
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


def texts_of(module: ModuleType) -> Iterator[str]:
    """Every text of a module, as a catalogue has it."""
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        if isinstance(node, ast.Constant | ast.JoinedStr) and (said := sentence(node)):
            yield said
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) and (said := sentence(node.left)):
            yield f"{said}{{0}}"


def pattern(sentence: str) -> re.Pattern[str]:
    """What a sentence is with any values."""
    return re.compile("(.+?)".join(map(re.escape, PLACES.split(sentence))))


def of_files(sentences: Iterable[str]) -> set[str]:
    """Those sentences that the reading of a file can say: its modules have them, alone, with values, or as a value."""
    import plant_plugin.data.several_files

    names = [name for name in sys.modules if name.startswith("plant_plugin.data.")]
    modules = [errors, opening, plant_plugin.data.several_files, *(sys.modules[name] for name in sorted(names))]
    texts = {one for module in modules for one in texts_of(module)}
    texts |= {f"{one} {{1}}" for one in texts if one.startswith("{0}, ")}  # a place, and the number that tables add
    found = [match for one in sentences for match in map(pattern(one).fullmatch, texts) if match]
    there = texts | {value for match in found for value in match.groups()}
    forms = [
        re.compile(".*".join(map(re.escape, PLACES.split(one)))) for one in texts if re.search(r"\w\w+ \w\w+", one)
    ]
    return {
        one
        for one in sentences
        if one in there or any(map(pattern(one).fullmatch, there)) or any(form.fullmatch(one) for form in forms)
    }


def translated(said: str, own: dict[str, str]) -> str:
    """Return what the server said as the page says it: ``serverSaid`` of texts.js, literally."""
    for english in sorted(own, key=len, reverse=True):
        if found := pattern(english).fullmatch(said):
            return PLACES.sub(lambda place: translated(found[int(place[0][1]) + 1], own), own[english])
    return said
