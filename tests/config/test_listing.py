"""How many keys there are, and in how many modules each is known."""

from __future__ import annotations

import ast
import functools
import json
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import pytest
from click.testing import CliRunner

import plant_plugin
from plant_plugin.cli import plant
from plant_plugin.config.listing import keys
from plant_plugin.config.sections import BLOCKS

PACKAGE = Path(plant_plugin.__file__).parent
MOST_KEYS = 161  # 160, and label_separator, which came later; may only fall
MOST_MODULES = 4
# Keys that more modules know: at most so many, which may only fall.
KNOWN_MORE = {
    "model_name": 17, "strategy": 15, "training_file": 14, "resume": 11, "seed": 11, "silent": 10, "test_file": 10,
    "val_file": 10, "eval": 9, "val_metric": 9, "cache_dir": 8, "linear": 8, "refit": 8, "data_name": 7,
    "max_seq_length": 7, "monitor_metrics": 7, "planted_scores.model": 7, "stage2.epochs": 7, "label_file": 6,
    "val_size": 6, "checkpoint_path": 5, "choose": 5, "data_format": 5, "planted_scores.names": 5,
}  # fmt: skip
BELOW = ("errors.py", "files.py", "evaluation/")  # what the configuration itself needs, and so cannot know its keys
# What a configuration or a part of it is annotated as.
SECTIONS = {"Config", "Settings", "General", "Data", "Model", "Training", "Evaluation", "Linear", "Plant", "Search"}
OPTIONS = {options.__name__ for options in BLOCKS.values()} | {"StageOptions"}


def named(annotation: ast.expr | None) -> set[str]:
    """Return the names of classes in an annotation."""
    if annotation is None:
        return set()
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        annotation = ast.parse(annotation.value, mode="eval").body
    return {node.id if isinstance(node, ast.Name) else node.attr
            for node in ast.walk(annotation) if isinstance(node, ast.Name | ast.Attribute)}  # fmt: skip


def name_of(holder: ast.expr) -> str:
    """Return the name that a value is known by: that of NAME, or of self.NAME."""
    return holder.id if isinstance(holder, ast.Name) else holder.attr if isinstance(holder, ast.Attribute) else ""


def annotations(nodes: Iterable[ast.AST]) -> dict[str, set[str]]:
    """Return the classes that each name, or self.NAME, of a module is annotated as."""
    of_class: dict[str, set[str]] = {}
    for node in nodes:
        if isinstance(node, ast.arg):
            of_class.setdefault(node.arg, set()).update(named(node.annotation))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name | ast.Attribute):
            of_class.setdefault(name_of(node.target), set()).update(named(node.annotation))
    return of_class


@functools.cache
def other_mappings() -> frozenset[str]:
    """Return the classes of mappings that are no configuration: what files of a model or of a result hold."""
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in PACKAGE.rglob("*.py")]
    classes = [node for tree in trees for node in tree.body if isinstance(node, ast.ClassDef)]
    typed = {"TypedDict"}
    while more := {each.name for each in classes if {name_of(base) for base in each.bases} & typed} - typed:
        typed |= more
    return frozenset(typed)


def is_no_key(node: ast.Constant, parents: dict[ast.AST, ast.AST], of_class: dict[str, set[str]]) -> bool:
    """Tell whether a text cannot be a key by the place where it stands; in any other place it counts as one.

    It is none where it is compared with (``device.type == "cpu"``), one of two values (``"16" if narrow else "32"``),
    part of a sentence, a default, an argument by name other than ``key`` and ``where``, the device that torch is told,
    or an index, ``get`` or key of a mapping whose class says that it is no configuration (a TypedDict).
    """
    above = parents[node]
    if isinstance(above, ast.Compare):
        return not isinstance(above.ops[0], ast.In | ast.NotIn)
    if isinstance(above, ast.keyword):
        return above.arg not in ("key", "where")
    if isinstance(above, ast.IfExp | ast.JoinedStr | ast.FormattedValue | ast.BinOp | ast.arguments):
        return True
    holder = None
    if isinstance(above, ast.Call):
        if name_of(above.func) in ("device", "autocast"):
            return True
        if isinstance(above.func, ast.Attribute) and above.func.attr in ("get", "pop", "setdefault"):
            holder = above.func.value
    elif isinstance(above, ast.Subscript):
        holder = above.value
    elif isinstance(above, ast.Dict):
        while isinstance(above, ast.Dict | ast.IfExp | ast.BinOp | ast.BoolOp):
            above = parents[above]
        return isinstance(above, ast.AnnAssign) and bool(named(above.annotation) & other_mappings())
    return holder is not None and bool(of_class.get(name_of(holder), set()) & other_mappings())


def known_in(path: Path) -> set[str]:
    """Return the keys, BLOCK.KEY or flat, whose names a module reads of a configuration or holds as a text.

    A text counts wherever it can be a key, see :func:`is_no_key`; an attribute where what has it is annotated as a
    configuration or a part of one, or called ``config`` or ``settings``; an argument by name where such a one is
    changed (``replace``).
    """
    tree = ast.parse(path.read_text(encoding="utf-8"))
    parents = dict[ast.AST, ast.AST]()
    nodes: list[ast.AST] = [tree]
    for node in nodes:  # to which their children are added: one walk through all
        children = [*ast.iter_child_nodes(node)]
        parents |= dict.fromkeys(children, node)
        nodes += children
    of_class = annotations(nodes)
    found = set()
    is_library = path.parent.name == "host" and path.name != "settings.py"
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if not is_library and not is_no_key(node, parents, of_class):
                found.add(node.value)
        elif isinstance(node, ast.Call) and name_of(node.func) == "replace" and node.args:
            kinds, name = of_class.get(name_of(node.args[0]), set()), name_of(node.args[0])
            if kinds & SECTIONS or name in ("config", "settings"):
                found |= {keyword.arg for keyword in node.keywords if keyword.arg}
        elif isinstance(node, ast.Attribute):
            name = name_of(node.value)
            kinds, block = of_class.get(name, set()), ""
            if is_library and name == "settings":
                continue
            if name in BLOCKS:
                block = name
            elif kinds & OPTIONS:
                block = next((block for block, kind in BLOCKS.items() if kind.__name__ in kinds), "stage2")
            if block:
                found.add(f"{block}.{node.attr}")
            elif kinds & SECTIONS or name in ("config", "settings"):
                found.add(node.attr)
    return found


def modules_by_key() -> dict[str, list[str]]:
    names = {key.name for key in keys()}
    modules = defaultdict(list)
    for path in sorted(PACKAGE.rglob("*.py")):
        if (module := str(path.relative_to(PACKAGE))).startswith(BELOW):
            continue
        for name in known_in(path) & names:
            modules[name].append(module)
    return modules


def test_keys_may_only_become_fewer() -> None:
    names = [key.name for key in keys()]
    assert len(names) == len(set(names)) <= MOST_KEYS


def test_every_key_has_a_sentence() -> None:
    assert [key.name for key in keys() if not key.sentence] == []


def test_a_key_is_known_in_few_modules() -> None:
    more = {name: len(modules) for name, modules in modules_by_key().items() if len(modules) > MOST_MODULES}
    assert {name: number for name, number in more.items() if number > KNOWN_MORE.get(name, MOST_MODULES)} == {}


@pytest.mark.parametrize(
    ("source", "known"),
    [
        ("def f(config: Config): return config.stage1.k", {"stage1.k", "stage1"}),
        ("def f(options: ShortlistOptions): return options.size", {"shortlist.size"}),
        ("class A:\n    settings: Settings\n    def f(self): return self.settings.seed", {"seed", "settings"}),
        ("KEYS = ('evidence.mine', 'seed')", {"evidence.mine", "seed"}),
        ("def f(size): return size.seed", set()),
        ("def f(values): return values['seed'] or values.get('eval')", {"seed", "eval"}),
        ("def f(values): return 'seed' in values", {"seed"}),
        ("KEY = 'seed'", {"seed"}),
        ("BY = {'val': 'val_file', 'seed': 1}", {"val_file", "seed"}),
        ("def f(add): add('seed', 'is wrong'); error(key='eval')", {"seed", "eval"}),
        ("def f(settings): return replace(settings, silent=True)", {"silent"}),
        ("def f(at, name): return at == 'cpu' or torch.device('cpu') or f(map_location='cpu')", set()),
        ("def f(narrow): return 'cpu' if narrow else f'{narrow} seed'", set()),
        ("def f(content: Content): return content['model_name']", set()),
    ],
)
def test_what_knows_a_key(source: str, known: set[str], tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(source)
    assert known_in(path) & {key.name for key in keys()} == known - {"settings", "stage1"}


def test_the_list_of_keys() -> None:
    shown = CliRunner().invoke(plant, ["list", "keys"])
    assert shown.exit_code == 0, shown.output
    assert (
        "  stage1.k (a whole number, default 1000): tokens of a document that form pairs, per label\n" in shown.output
    )
    assert "network_config.ranker_size (a whole number, default 400)" in shown.output
    assert "[PLANTL2R]" in shown.output
    as_json = json.loads(CliRunner().invoke(plant, ["list", "keys", "--json"]).output)
    assert {"name", "group", "wanted", "default", "sentence", "used"} == as_json[0].keys()
    assert len(as_json) == len([*keys()])
