"""Who may import whom: a module imports only from its own room and from rooms above it in ``ROOMS``."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "plant_plugin"

# A room is a module, a package, or modules whose names start alike. The deepest room that fits a module is its own.
ROOMS = (
    "errors",
    "options",
    "files",
    "text_lines",
    "processor",
    "registry",
    "evaluation",  # names of metrics are part of the configuration check
    "config_schema",
    "config",
    "configs",
    "report",
    "host.encoders",  # LibMultiLabel's encoders and GloVe vectors; reads nothing of ours
    "data",
    "prepare",  # raw data sets to training files
    "relevance",
    "kernels",
    "losses",
    "host",
    "networks",
    "training",
    "prediction",  # trained models on new texts
    "run",
    "classifier",  # scikit-learn's interface over one run
    "search",  # many runs on Ray Tune
    "serving",  # trained models behind HTTP
    "commands",
    "cli",
)
# `import plant_plugin` is the version; its register() fetches the networks only when called.
EXEMPT = {"plant_plugin"}
LAZY_DOORS = {"host": "host.encoders"}  # the package itself imports nothing: it opens the module that is asked for
ONLY_IMPORTERS = {
    "libmultilabel": "host",
    "peft": "networks.backbone",
    "bitsandbytes": "networks.backbone",
    "ray": "search.tuning",
    "optuna": "search.tuning",
}


def module_name(path: Path) -> str:
    """Dotted, below the package; the package's own name for its ``__init__``."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    parts = parts[:-1] if parts[-1] == "__init__" else parts
    return ".".join(parts) or "plant_plugin"


MODULES = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}


def room_of(module: str) -> int:
    """Place of the module's room in the list."""
    fitting = [room for room in ROOMS if module == room or module.startswith((f"{room}.", f"{room}_"))]
    assert fitting, f"{module} is in no room: give it one in ROOMS"
    return ROOMS.index(max(fitting, key=len))


def imports(path: Path) -> Iterator[str]:
    """Full names of everything that a module imports, in functions too, but not what only type checkers see."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    hidden = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for part in node.body
        for inner in ast.walk(part)
    }
    for node in ast.walk(tree):
        if id(node) in hidden:
            continue
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name} imports relatively"
            yield from (f"{node.module}.{name.name}" for name in node.names)


def ours(imported: str) -> str | None:
    """The module of ours that an import reaches, below the package; None for others and for the package itself."""
    name = imported.removeprefix("plant_plugin.")
    if name == imported:
        return None
    while name not in MODULES and "." in name:
        name = name.rpartition(".")[0]
    return name if name in MODULES else None


@pytest.mark.parametrize("module", sorted(MODULES.keys() - EXEMPT))
def test_imports_only_from_rooms_above(module: str) -> None:
    room = room_of(module)
    for imported in imports(MODULES[module]):
        target = ours(imported)
        if target is None:
            continue
        target = LAZY_DOORS.get(target, target) if room_of(module) != room_of(target) else target
        assert room_of(target) <= room, f"{module} ({ROOMS[room]}) imports {target}, which stands below it"


@pytest.mark.parametrize(("library", "importer"), ONLY_IMPORTERS.items())
def test_one_importer_of_each_foreign_library(library: str, importer: str) -> None:
    found = {name for name, path in MODULES.items() if any(i.partition(".")[0] == library for i in imports(path))}
    assert {name for name in found if name != importer and not name.startswith(f"{importer}.")} == set()


def test_every_room_is_lived_in() -> None:
    used = {ROOMS[room_of(module)] for module in MODULES.keys() - EXEMPT}
    assert used == set(ROOMS)


def test_a_forbidden_import_would_be_seen(tmp_path: Path) -> None:
    source = tmp_path / "module.py"
    source.write_text(
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    from plant_plugin.cli import plant\n"
        "def late():\n    from plant_plugin.training import stage1\n    import libmultilabel.nn\n",
        encoding="utf-8",
    )
    found = list(imports(source))
    assert found == ["typing.TYPE_CHECKING", "plant_plugin.training.stage1", "libmultilabel.nn"]
    assert ours(found[1]) == "training.stage1"
    assert room_of("training.stage1") > room_of("data.documents")
