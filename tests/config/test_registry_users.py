"""Registries of users: how they are found, and what is said where one is wrong."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from plant_plugin.cli import plant
from plant_plugin.config import load_config, registry
from plant_plugin.errors import ConfigError, PlantError

LOSS = "losses:\n  mine: {target: 'somewhere.losses:mine', summary: Mine., stage: 2}\n"


@pytest.fixture(autouse=True)
def clean() -> Iterator[None]:
    """No registry is left behind."""
    registry._read.cache_clear()
    yield
    registry._read.cache_clear()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "mine.yaml"
    path.write_text(LOSS)
    return path


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("losses: [", r"mine.yaml, line \d: this is not YAML"),
        (LOSS + LOSS, r"mine.yaml: losses \(mine.yaml\): given twice, in lines 1 and 3"),
        (LOSS + LOSS.partition("\n")[2], r"mine.yaml: losses.mine \(mine.yaml\): given twice, in lines 2 and 3"),
        ("- losses", "a list of `key: value` lines"),
        ("loses: {}", "there is no kind of entry 'loses'.*did you mean losses"),
        ("losses: {mine: text}", "losses: mine: has to be fields.*not str"),
        (LOSS.replace("summary", "sumary"), "losses: mine: there is no field 'sumary'.*did you mean summary"),
        (
            LOSS.replace(", stage: 2", ""),
            "losses: mine: it has no stage.*needs target, summary, stage",
        ),
        (LOSS.replace("stage: 2", "stage: 3"), "losses: mine: there is no stage 3"),
        (LOSS.replace("stage: 2", "stage: two"), "losses: mine: stage has to be a number"),
        (LOSS.replace("stage: 2", "origin: here"), "losses: mine: there is no field 'origin'"),
        (LOSS.replace("somewhere.losses:mine", "somewhere/losses.py"), "no target.*name it module:attribute"),
        (LOSS.replace("mine:", "focal:"), "losses: focal: the name is taken, by this package.*another name"),
        ("metrics: {P: {target: 'a:b', summary: S.}}", "metrics: P: the name is taken, by this package"),
        ("metrics: {'A@1': {target: 'a:b', summary: S.}}", "metrics: A@1: it cannot be called so"),
        ("networks: {'a:b': {target: 'a:b', summary: S.}}", "networks: a:b: it cannot be called so"),
        ("backbones: {b: {target: 'a:b', summary: S.}}", "backbones: b: it has no weights"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(file: Path, text: str, message: str) -> None:
    file.write_text(text)
    before = registry.entries("losses")
    with pytest.raises(ConfigError, match=f"(?s){message}") as error:
        registry.use(file)
    assert str(file) in str(error.value)
    assert registry.entries("losses").keys() == before.keys()  # nothing of it stays


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"registry.*cannot be read \(FileNotFoundError\), in .*nowhere.yaml"):
        load_config(None, {"registry": str(tmp_path / "nowhere.yaml"), "training_file": "demo:train"})


def test_two_registries_with_one_name(file: Path, tmp_path: Path) -> None:
    registry.use(file)
    registry.use(file)  # once more is nothing
    other = tmp_path / "other.yaml"
    other.write_text(LOSS)
    with pytest.raises(ConfigError, match=f"the name is taken, by {file}"):
        registry.use(other)


def test_an_empty_one_adds_nothing(file: Path) -> None:
    file.write_text("networks:\n")
    registry.use(file)
    assert all(entry.origin is None for kind in registry.KINDS for entry in registry.entries(kind).values())


@pytest.mark.parametrize(("source", "said"), [(None, "no module somewhere.losses"), ("other = 1", "has no 'mine'")])
def test_a_target_that_is_not_there(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str | None, said: str
) -> None:
    """The module is missed before any data are read, its attribute when it is imported."""
    monkeypatch.syspath_prepend(str(tmp_path))
    if source is not None:
        (tmp_path / "somewhere").mkdir()
        (tmp_path / "somewhere" / "losses.py").write_text(source)
        (tmp_path / "somewhere" / "__init__.py").write_text("")
        monkeypatch.delitem(sys.modules, "somewhere", raising=False)
    registry.use(file)
    with pytest.raises(ConfigError, match=f"{file}: losses: mine.*{said}"):
        registry.get("losses", "mine").load()
    keys = {
        "stage2.loss": "mine",
        "training_file": "demo:train",
        "model_name": "PLANT",
        "network_config.encoder": "cnn",
    }
    if source is None:
        with pytest.raises(ConfigError, match=f"stage2.loss.*{said}, in {file}: losses: mine"):
            load_config(None, keys)
    else:
        assert load_config(None, keys).stage2.loss == "mine"


def test_its_networks_are_known_before_defaults_are_chosen(file: Path) -> None:
    file.write_text("networks: {Mine: {target: 'plant_plugin.networks.plant:PLANT', summary: Mine.}}")
    given = {"registry": str(file), "model_name": "Mine", "network_config.lm_weight": "somewhere"}
    config = load_config(None, {**given, "training_file": "demo:train"})
    assert (config.max_seq_length, config.registry) == (None, str(file.resolve()))


def test_the_list_shows_where_an_entry_comes_from(file: Path) -> None:
    shown = CliRunner().invoke(plant, ["list", "losses", "--registry", str(file)])
    assert shown.exit_code == 0
    assert f"Mine. [somewhere.losses:mine, from {file}]" in shown.output
    assert "from" not in next(line for line in shown.output.splitlines() if line.startswith("  focal"))


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installed package with an entry point, which must not be imported to be listed."""
    (tmp_path / "add_ons-1.0.dist-info").mkdir()
    (tmp_path / "add_ons-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: add-ons\nVersion: 1.0\n")
    (tmp_path / "add_ons-1.0.dist-info" / "entry_points.txt").write_text("[plant_plugin.registry]\nmine = add_ons\n")
    (tmp_path / "add_ons").mkdir()
    (tmp_path / "add_ons" / "__init__.py").write_text("raise RuntimeError('imported')\n")
    (tmp_path / "add_ons" / "registry.yaml").write_text(LOSS)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_an_installed_package_adds_its_registry(installed: Path) -> None:
    entry = registry.get("losses", "mine", stage=2)
    assert (entry.origin, entry.is_users) == (str(installed / "add_ons" / "registry.yaml"), True)
    registry.use(installed / "add_ons" / "registry.yaml")  # named too, it is the same
    shown = CliRunner().invoke(plant, ["list", "losses"])
    assert "add_ons" in shown.output


def test_an_entry_point_without_its_package(installed: Path) -> None:
    (installed / "add_ons-1.0.dist-info" / "entry_points.txt").write_text("[plant_plugin.registry]\nmine = gone_away\n")
    with pytest.raises(PlantError, match=r"entry point mine.*the package gone_away cannot be found"):
        registry.entries("losses")


def test_help_waits_for_no_registry(installed: Path) -> None:
    code = (
        "import sys; from plant_plugin.cli import libmultilabel\n"
        "try: libmultilabel(['--help'])\n"
        "except SystemExit: pass\n"
        "from plant_plugin.config import registry\n"
        "print(registry._read.cache_info().currsize)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "0"
