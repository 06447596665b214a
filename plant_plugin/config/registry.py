"""Registry of what a configuration can name (networks, encoders, losses, …), and of further commands of `plant`.

The list is ``registry.yaml``, in the package in a wheel and beside it in a checkout. Users add files of the same form:
an installed package by an entry point of :data:`GROUP`, anybody by ``--registry``. Nothing else adds an entry, least of
all a run's folder. Targets are imported when an entry is used; their signatures are read from source, so that a check
or a listing never imports torch.
"""

from __future__ import annotations

import dataclasses
import functools
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple, TypeVar

import yaml

from plant_plugin.config.options import NetworkOptions
from plant_plugin.config.signatures import REQUIRED, Signature, signature_of, source_file
from plant_plugin.config.values import PLAIN, Keys, Number, Value, Whole
from plant_plugin.config.yaml_file import read_yaml
from plant_plugin.errors import ConfigError, MissingExtraError, PlantError, suggestion
from plant_plugin.evaluation import names

Options = TypeVar("Options", bound=NetworkOptions)
KINDS = ("networks", "encoders", "backbones", "strategies", "losses", "readers", "metrics", "linear", "commands")
FROM_DATA = ("num_classes", "embed_vecs")  # arguments of a network that the data decide
GROUP = "plant_plugin.registry"  # of entry points: each names a package that has a registry.yaml in its folder
FILE = "registry.yaml"
FIELDS: dict[str, type] = {  # of a user's entry
    "target": str, "summary": str, "source": str, "needs": str, "stage": int, "required": list, "weights": str,
    "shape": dict, "options": str, "vocabulary": dict, "stage1": str, "stage1_unread": list,
}  # fmt: skip
SHAPES = {str: "a text", int: "a number", list: "a list", dict: "`name: value` lines"}
NEEDED = {"losses": ("stage",), "backbones": ("weights",)}  # beside target and summary
TARGET = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*")
NAME = re.compile(r"[\w.+-]+")


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
    options: str | None = None  # of a network or encoder: ``module:attribute`` of the class that declares its arguments
    vocabulary: Mapping[str, str] | None = None  # of both, see :class:`VocabularyFolder`: its ``argument``, ``command``
    stage1: str | None = None  # of a network: ``module:attribute`` of what plants it in the place of our stage 1
    stage1_unread: Sequence[str] = ()  # keys of `stage1` that this does not read
    origin: str | None = None  # the file of a user that adds it; None: this package's own

    @property
    def module(self) -> str:
        """Return the module of the target."""
        return self.target.partition(":")[0]

    @property
    def ours(self) -> bool:
        """Tell whether this package's strategies train it (or its code computes it), and not LibMultiLabel's."""
        return self.module.partition(".")[0] != "libmultilabel"

    @property
    def is_users(self) -> bool:
        """Tell whether a user added it, in a registry or as ``module:attribute``; nobody has tested it here."""
        return self.origin is not None or ":" in self.name

    @property
    def place(self) -> str:
        """Return the module of the target and, where that is known, its file; imports nothing."""
        return f"{self.module} from {source_file(self.module) or 'an unknown file'}"

    @property
    def where(self) -> str:
        """Return file, kind and name, for errors."""
        return f"{self.origin}: {self.kind}: {self.name}" if self.origin else f"{self.kind}: {self.name}"

    def check_module(self) -> None:
        """Raise a ``ConfigError`` where the module of a user's target is not there; imports nothing."""
        if self.origin and source_file(self.module) is None:
            fix = "put its folder on PYTHONPATH, or mend the target, which is module:attribute"
            raise ConfigError(f"there is no module {self.module}", where=self.where, fix=fix)

    def load(self) -> Value:  # a class or a function, which only its caller knows
        """Import the target; an error where it is not there, a ``MissingExtraError`` where a package is missing."""
        self.check_module()
        try:
            holder = import_module(self.module)
        except ModuleNotFoundError as error:
            extra = f"'plant-plugin[{self.needs}]'" if self.needs else str(error.name).partition(".")[0]
            what = f"{error.name} is not installed"
            raise MissingExtraError(what, where=self.where, fix=f"pip install {extra}") from error
        attribute = self.target.partition(":")[2]
        if not hasattr(holder, attribute):
            raise self._without_attribute()
        return getattr(holder, attribute)

    def _without_attribute(self) -> ConfigError:
        module, _, attribute = self.target.partition(":")
        return ConfigError(f"{module} has no {attribute!r}", where=self.where, fix="mend the target: module:attribute")

    def signature(self, network_config: Mapping[str, Value] = MappingProxyType({})) -> Signature:
        """Return the arguments of the target, read from its source without an import, and of its options.

        Raises:
            PlantError: The source is not there, or no Python.
        """
        self.check_module()
        signature, options = signature_of(self.target), self.declared(network_config)
        if signature is None and self.origin:
            raise self._without_attribute()
        if signature is None:
            package = self.module.partition(".")[0]
            fix = f"install {package}: pip install {package}; `plant doctor` shows which version is there"
            raise PlantError("its source cannot be found", where=self.target, fix=fix)
        if options is None:
            return signature
        return Signature({**signature, **{field.name: field.default for field in dataclasses.fields(options)}})

    def declared(self, network_config: Mapping[str, Value] = MappingProxyType({})) -> type[NetworkOptions] | None:
        """Return the class that declares the arguments, those of the encoder that ``network_config`` names included.

        None: the entry has no such class, and the target's own signature holds.
        """
        if self.options is None:
            return None
        options = replace(self, target=self.options).load()
        if not (isinstance(options, type) and issubclass(options, NetworkOptions)):
            fix = "derive it, a frozen dataclass, from plant_plugin.config.options.NetworkOptions"
            raise ConfigError(f"{self.options} declares no options", where=self.where, fix=fix)
        encoder = encoder_of(options, network_config)
        return options if encoder is None else with_encoder(options, encoder)

    def read_from_source(self) -> type[NetworkOptions]:
        """Return the arguments of a network that declares no options, as such a class: each of its default's type."""
        fields: list[tuple[str, object, Value]] = []
        for name, default in self.signature().items():
            hint = PLAIN.get(type(default), object)
            if type(default) is int and default == 0:
                hint = Whole | Number  # fractions are meant too (dropout)
            needed = default is REQUIRED or name in self.required
            if name not in FROM_DATA:
                fields.append((name, hint, dataclasses.field() if needed else dataclasses.field(default=None)))
        options: type[NetworkOptions] = dataclasses.make_dataclass(
            self.name, fields, bases=(NetworkOptions,), frozen=True, kw_only=True
        )
        return options


def entries(kind: str) -> dict[str, Entry]:
    """Return all entries of a kind by name, in the order of ``registry.yaml``, and after them those of users."""
    if kind not in KINDS:
        raise _unknown("kind of entry", kind, KINDS)
    return _read()[kind]


def get(kind: str, name: str, *, stage: int | None = None) -> Entry:
    """Return the entry of a name as a configuration writes it, for a network of your own ``module:attribute``.

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


def encoder_of(options: type[NetworkOptions], network_config: Mapping[str, Value]) -> Entry | None:
    """Return the registered encoder that takes the place of a network's own; None: none is named, or it takes none."""
    takes_one = any(field.name == "encoder" for field in dataclasses.fields(options))
    return entries("encoders").get(str(network_config.get("encoder"))) if takes_one else None


def with_encoder(options: type[Options], encoder: Entry) -> type[Options]:
    """Return the arguments of a network and its encoder as one class; the network's hold where both declare one."""
    declared = encoder.declared()
    if declared is None:
        return options
    both: type[Options] = dataclasses.make_dataclass(
        options.__name__, [], bases=(options, declared), frozen=True, kw_only=True
    )
    return both


class VocabularyFolder(NamedTuple):
    """A folder by whose vocabulary documents are read."""

    folder: str
    argument: str  # of ``network_config``, which names it
    command: str  # of ``plant``, which makes it


def vocabulary_folder(model_name: str, network_config: Mapping[str, Value]) -> VocabularyFolder | None:
    """Return the folder that a network or its encoder names for the words that documents are read by; None: none."""
    network = entries("networks").get(model_name)
    if network is None or (options := network.declared()) is None:
        return None
    for entry in (network, encoder_of(options, network_config)):
        named = None if entry is None else entry.vocabulary
        if named and (folder := network_config.get(named["argument"])):
            return VocabularyFolder(folder, **named)
    return None


def use(path: str | Path | None) -> None:
    """Take a user's registry into this process, beside what is there; None and a file once more change nothing.

    Raises:
        ConfigError: It cannot be read, is not of the form of ``registry.yaml``, or gives a name that is taken.
    """
    if path is None or (file := Path(path).resolve()) in _USED:
        return
    _USED.append(file)
    _read.cache_clear()
    try:
        _read()
    except PlantError:
        _USED.remove(file)
        raise


def used() -> list[Path]:
    """Return the registries that this process has taken."""
    return [*_USED]


def preset(lm_weight: str) -> Entry | None:
    """Return the backbone of that name; a folder of the same name goes before it."""
    return None if os.path.isdir(lm_weight) else entries("backbones").get(lm_weight)


def _unknown(what: str, name: str, known: tuple[str, ...], where: str | None = None) -> ConfigError:
    return ConfigError(f"there is no {what} {name!r}", where=where, fix=suggestion(name, known))


_USED: list[Path] = []  # registries that this process has taken


@functools.cache
def _read() -> dict[str, dict[str, Entry]]:
    package = Path(__file__).resolve().parents[1]
    places = [package / FILE, package.parent / FILE]
    path = next((place for place in places if place.is_file()), None)
    if path is None:
        fix = "install the package again: pip install --force-reinstall plant-plugin"
        raise PlantError("the list of networks, losses and metrics is missing", where=FILE, fix=fix)
    # A prediction waits for it.
    content = yaml.load(path.read_text(encoding="utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    by_kind = {
        kind: {str(name): Entry(kind, str(name), **fields) for name, fields in content[kind].items()} for kind in KINDS
    }
    for further in dict.fromkeys([*_installed(), *_USED]):
        _add(further, by_kind)
    return by_kind


def _installed() -> Iterator[Path]:
    """Yield the registries of installed packages, none of which is imported."""
    from importlib.metadata import entry_points  # 30 ms, which `--help` does without

    for point in entry_points(group=GROUP):
        package = source_file(point.module)
        if package is None:
            where, fix = f"entry point {point.name} of {GROUP}", f"install again, or remove, what has {point.value}"
            raise ConfigError(f"the package {point.value} cannot be found", where=where, fix=fix)
        yield package.resolve().with_name(FILE)


def _add(path: Path, by_kind: dict[str, dict[str, Entry]]) -> None:
    """Add a user's entries, or raise a ``ConfigError`` that says what is wrong where."""
    content, problems = read_yaml(path)
    if problems.found:  # a name that is given twice
        first = problems.found[0]
        raise ConfigError(f"{first.where}: {first.what}", where=str(path), fix=first.fix)
    for kind, named in content.items():
        if kind not in KINDS:
            raise _unknown("kind of entry", kind, KINDS, where=str(path))
        for name, fields in _mapping(named, f"{path}: {kind}", "names with an entry each").items():
            where = f"{path}: {kind}: {name}"
            if (by := _taken(by_kind[kind], kind, name)) is not None:
                raise ConfigError(f"the name is taken, by {by}", where=where, fix="give the entry another name")
            by_kind[kind][name] = _entry(kind, name, _mapping(fields, where, "fields (target, summary, …)"), path)


def _taken(known: Mapping[str, Entry], kind: str, name: str) -> str | None:
    """Return who has a name already, which may be that of a family of metrics."""
    if kind == "metrics" and name in {**names.FAMILIES, **names.ALIASES}:
        return "this package"
    return (known[name].origin or "this package") if name in known else None


def _entry(kind: str, name: str, fields: Keys, path: Path) -> Entry:
    """Return a user's entry, whose fields are as they have to be."""

    def wrong(what: str, fix: str) -> ConfigError:
        return ConfigError(what, where=f"{path}: {kind}: {name}", fix=fix)

    needed = ["target", "summary", *NEEDED.get(kind, ())]
    for field, value in fields.items():
        if field not in FIELDS:
            raise wrong(f"there is no field {field!r}", suggestion(field, tuple(FIELDS)))
        if not isinstance(value, FIELDS[field]) or isinstance(value, bool):
            raise wrong(f"{field} has to be {SHAPES[FIELDS[field]]}", "see docs/your_network.md")
    for field in needed:
        if field not in fields:
            raise wrong(f"it has no {field}", f"add it; an entry of {kind} needs {', '.join(needed)}")
    for field in ("target", "options", "stage1"):
        if field in fields and not TARGET.fullmatch(str(fields[field])):
            raise wrong(f"{fields[field]!r} is no {field}", "name it module:attribute")
    if kind == "losses" and fields["stage"] not in (1, 2):
        raise wrong(f"there is no stage {fields['stage']}", "1 plants the attention, 2 trains end to end")
    if not (names.NAME if kind == "metrics" else NAME).fullmatch(name):
        raise wrong("it cannot be called so", "take letters, digits and -, a letter first")
    return Entry(kind, name, **{"source": "", **fields}, origin=str(path))


def _mapping(value: Value, where: str, what: str) -> Keys:
    """Return a part of a registry by names that are texts; empty where there is nothing."""
    if value is not None and not isinstance(value, dict):
        raise ConfigError(f"has to be {what}, not {type(value).__name__}", where=where, fix="see docs/your_network.md")
    return {str(name): inner for name, inner in (value or {}).items()}


# The room of metrics is below this one.
names.added = lambda: {name: entry for name, entry in entries("metrics").items() if entry.is_users}
