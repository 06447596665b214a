"""Arguments of functions and classes, read from their source: nothing is imported."""

from __future__ import annotations

import ast
import dataclasses
import functools
from importlib.util import find_spec
from pathlib import Path

from plant_plugin.config.bases import bases
from plant_plugin.errors import ConfigError

REQUIRED = dataclasses.MISSING  # the default of an argument that has none


class Signature(dict[str, object]):
    """Arguments by name, in order, with their defaults (``REQUIRED`` where there is none)."""

    def __init__(self, arguments: dict[str, object], *, takes_any: bool = False) -> None:
        super().__init__(arguments)
        self.open = takes_any  # any further keyword argument is taken too (``**kwargs``)


@functools.cache
def signature_of(target: str) -> Signature | None:
    """Return the arguments of a target; None where it cannot be found."""
    module, _, attribute = target.partition(":")
    path = source_file(module)
    try:
        nodes = [] if path is None else ast.parse(path.read_bytes()).body
    except (SyntaxError, ValueError, OSError) as error:
        fix = f"mend it: python -m py_compile {path} says where"
        raise ConfigError(f"its source cannot be read ({type(error).__name__})", where=target, fix=fix) from error
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == attribute:
            return _arguments(node, module, nodes)
    return None


def source_file(module: str) -> Path | None:
    """Return the file of a module; only its top package is looked up, because that imports nothing."""
    top, *rest = module.split(".")
    try:
        spec = find_spec(top)
    except ValueError:  # loaded without one, as __main__ is
        return None
    if spec is None or not rest:
        return Path(spec.origin) if spec is not None and spec.origin else None
    bases = [Path(folder, *rest) for folder in spec.submodule_search_locations or []]
    candidates = (path for base in bases for path in (base.with_suffix(".py"), base / "__init__.py"))
    return next((path for path in candidates if path.is_file()), None)


def _arguments(node: ast.FunctionDef | ast.ClassDef, module: str, nodes: list[ast.stmt]) -> Signature:
    """Return arguments of a function, or of a class's ``__init__`` without ``self``, its own or inherited."""
    inner = isinstance(node, ast.ClassDef)
    for part in node.body if inner else [node]:
        if isinstance(part, ast.FunctionDef) and part.name in {node.name, "__init__"}:
            declared = part.args
            positional = [*declared.posonlyargs, *declared.args]
            defaults = [None] * (len(positional) - len(declared.defaults)) + [*declared.defaults, *declared.kw_defaults]
            pairs = [*zip(positional + declared.kwonlyargs, defaults, strict=True)][inner:]
            arguments = {name.arg: REQUIRED if default is None else _value(default) for name, default in pairs}
            return Signature(arguments, takes_any=declared.kwarg is not None)
    return next(filter(None, map(signature_of, bases(node, module, nodes))), Signature({}))


def _value(default: ast.expr) -> object:
    """Return a default's value; one that is not a literal stays as its source text."""
    try:
        return ast.literal_eval(default)
    except ValueError:
        return ast.unparse(default)
