"""What a configuration can name: networks, backbones, strategies, losses, readers, metrics, linear techniques.

The list is ``registry.yaml``, in the package in a wheel and beside it in a checkout. Targets are imported when an entry
is used; their signatures are read from source, so that a check or a listing never imports torch.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import os
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import yaml

from plant_plugin.config import network
from plant_plugin.config.gguf import folder_of_gguf, is_gguf
from plant_plugin.config.values import Keys
from plant_plugin.errors import ConfigError, MissingExtraError, PlantError, suggestion

KINDS = ("networks", "backbones", "strategies", "losses", "readers", "metrics", "linear")
REQUIRED = dataclasses.MISSING  # the default of an argument that has none


class Signature(dict[str, object]):
    """Arguments by name, in order, with their defaults (``REQUIRED`` where there is none)."""

    def __init__(self, arguments: dict[str, object], *, takes_any: bool = False) -> None:
        super().__init__(arguments)
        self.open = takes_any  # any further keyword argument is taken too (``**kwargs``)

    def __str__(self) -> str:
        shown = [name if default is REQUIRED else f"{name}={default!r}" for name, default in self.items()]
        return f"({', '.join([*shown, '**'] if self.open else shown)})"


@dataclass(frozen=True)
class Entry:
    """One thing that a configuration can name."""

    kind: str  # one of ``KINDS``
    name: str  # as configurations write it
    target: str  # ``module:attribute``
    summary: str
    source: str  # where the method or the code comes from
    needs: str | None = None  # extra of this package that has to be installed
    stage: int | None = None  # of a loss: 1 or 2
    required: Sequence[str] = ()  # arguments without which the target fails although they have a default
    weights: str | None = None  # of a backbone: the name of its weights on the hub
    shape: Keys | None = None  # of a backbone: what transformers' configuration of it says, as far as its size goes

    @property
    def ours(self) -> bool:
        """Whether this package's own strategies train it (or its own code computes it), and not LibMultiLabel's."""
        return self.target.partition(":")[0].partition(".")[0] != "libmultilabel"

    @property
    def place(self) -> str:
        """What importing the target would import, and the file where that is known; looking imports nothing."""
        module = self.target.partition(":")[0]
        return f"{module} from {_source_file(module) or 'an unknown file'}"

    def load(self) -> Any:  # type: ignore[explicit-any]  # a class or a function, which only its caller knows
        """Import the target, or raise a ``MissingExtraError``."""
        module, _, attribute = self.target.partition(":")
        try:
            return getattr(import_module(module), attribute)
        except ModuleNotFoundError as error:
            extra = f"'plant-plugin[{self.needs}]'" if self.needs else str(error.name).partition(".")[0]
            what = f"{error.name} is not installed"
            raise MissingExtraError(what, where=f"{self.kind}: {self.name}", fix=f"pip install {extra}") from error

    def signature(self) -> Signature:
        """Arguments of the target, read from its source without an import; a ``PlantError`` where that is not there."""
        found, options = _signature(self.target), self.options
        if options is None:
            return found
        return Signature({**found, **{field.name: field.default for field in dataclasses.fields(options)}})

    @property
    def options(self) -> type[network.Prior] | None:
        """Of a network of this package: the class that declares its arguments."""
        module, _, name = self.target.partition(":")
        return getattr(network, name, None) if module.startswith("plant_plugin.networks.") else None


def entries(kind: str) -> dict[str, Entry]:
    """All entries of a kind by name, in the order of ``registry.yaml``."""
    if kind not in KINDS:
        raise _unknown("kind of entry", kind, KINDS)
    return _read()[kind]


def get(kind: str, name: str, *, stage: int | None = None) -> Entry:
    """The entry of a name as a configuration writes it, for a network of your own ``module:attribute``.

    Raises:
        ConfigError: Nothing, no loss of this ``stage``, has that name; the nearest that exist are named.
    """
    if kind == "networks" and ":" in name:
        return Entry(kind, name, name, "Your own network.", name.partition(":")[0])
    known = {key: entry for key, entry in entries(kind).items() if stage is None or entry.stage == stage}
    if name not in known:
        label = {"networks": "network", "strategies": "strategy", "losses": "loss", "linear": "linear technique"}
        raise _unknown(label.get(kind, kind[:-1]), name, tuple(known))
    return known[name]


def language_model(lm_weight: str) -> str:
    """What transformers loads: of a preset its name on the hub, of a GGUF file its folder, any other as it is."""
    if is_gguf(lm_weight):
        return str(folder_of_gguf(lm_weight))
    preset = None if os.path.isdir(lm_weight) else entries("backbones").get(lm_weight)
    return lm_weight if preset is None else str(preset.weights)


def _unknown(what: str, name: str, known: tuple[str, ...]) -> ConfigError:
    return ConfigError(f"there is no {what} {name!r}", fix=suggestion(name, known))


@functools.cache
def _read() -> dict[str, dict[str, Entry]]:
    package = Path(__file__).resolve().parents[1]
    places = [package / "registry.yaml", package.parent / "registry.yaml"]
    path = next((place for place in places if place.is_file()), None)
    if path is None:
        fix = "install the package again: pip install --force-reinstall plant-plugin"
        raise PlantError("the list of networks, losses and metrics is missing", where="registry.yaml", fix=fix)
    fast = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # a prediction waits for it
    content = yaml.load(path.read_text(encoding="utf-8"), Loader=fast)
    return {
        kind: {str(name): Entry(kind, str(name), **fields) for name, fields in content[kind].items()} for kind in KINDS
    }


@functools.cache
def _signature(target: str) -> Signature:
    module, _, attribute = target.partition(":")
    path = _source_file(module)
    if path is not None:
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == attribute:
                return _arguments(node)
    package = module.partition(".")[0]
    fix = f"install {package}: pip install {package}; `plant doctor` shows which version is there"
    raise PlantError("its source cannot be found", where=target, fix=fix)


def _source_file(module: str) -> Path | None:
    """The file of a module; only its top package is looked up, because that imports nothing."""
    top, *rest = module.split(".")
    spec = find_spec(top)
    if spec is None or not rest:
        return Path(spec.origin) if spec is not None and spec.origin else None
    bases = [Path(folder, *rest) for folder in spec.submodule_search_locations or []]
    candidates = (path for base in bases for path in (base.with_suffix(".py"), base / "__init__.py"))
    return next((path for path in candidates if path.is_file()), None)


def _arguments(node: ast.FunctionDef | ast.ClassDef) -> Signature:
    """Arguments of a function, or of a class's own ``__init__`` without ``self``; a class without one takes none."""
    if isinstance(node, ast.ClassDef):
        own = next((part for part in node.body if isinstance(part, ast.FunctionDef) and part.name == "__init__"), None)
        if own is None:
            return Signature({})
        given, skip = own.args, 1
    else:
        given, skip = node.args, 0
    names = [argument.arg for argument in (*given.posonlyargs, *given.args)]
    defaults: list[ast.expr | None] = [None] * (len(names) - len(given.defaults)) + [*given.defaults]
    pairs = [*zip(names, defaults, strict=True)][skip:]
    pairs += zip((argument.arg for argument in given.kwonlyargs), given.kw_defaults, strict=True)
    found = {name: REQUIRED if default is None else _value(default) for name, default in pairs}
    return Signature(found, takes_any=given.kwarg is not None)


def _value(default: ast.expr) -> object:
    """A default's value; one that is not a literal stays as its source text."""
    try:
        return ast.literal_eval(default)
    except ValueError:
        return ast.unparse(default)
