"""What is installed is what is here: the wheel's content, and its commands in an environment far from the checkout."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

from plant_plugin import __version__

ROOT = Path(__file__).resolve().parents[1]
pytestmark = pytest.mark.packaging
SHIPPED = (".py", ".yml", ".txt", ".typed", ".html", ".css", ".js", ".json", ".xz")


def run(*command: str | Path, folder: Path) -> str:
    """Run a command without this process's import paths; its output."""
    environment = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(
        [str(part) for part in command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist and the wheel that is built from it, as ``python -m build`` does."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT, folder=ROOT)
    return folder


@pytest.fixture(scope="module")
def installed(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of a new environment with the wheel; its dependencies are this environment's."""
    folder = tmp_path_factory.mktemp("elsewhere")
    venv.create(folder, with_pip=True)
    programs = folder / ("Scripts" if os.name == "nt" else "bin")
    wheel = next(built.glob("*.whl"))
    run(programs / "python", "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", wheel, folder=folder)
    own = run(programs / "python", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", folder=folder)
    # Folders named in a .pth file come last, and .pth files inside them (an editable install) are not read.
    Path(own.strip(), "dependencies.pth").write_text(f"{sysconfig.get_path('purelib')}\n", encoding="utf-8")
    return programs


def package_files() -> set[str]:
    """What of the checkout's package belongs into the wheel."""
    return {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "plant_plugin").rglob("*")
        if (path.is_file() and path.suffix in SHIPPED) or path.name == "py.typed"
    }


def test_the_wheel_holds_the_package_and_nothing_else(built: Path) -> None:
    with zipfile.ZipFile(next(built.glob("*.whl"))) as wheel:
        names = {name for name in wheel.namelist() if ".dist-info/" not in name}
        metadata = wheel.read(f"plant_plugin-{__version__}.dist-info/METADATA").decode()
        entry_points = wheel.read(f"plant_plugin-{__version__}.dist-info/entry_points.txt").decode()
        registry = wheel.read("plant_plugin/registry.yaml")
    assert names == package_files() | {"plant_plugin/registry.yaml"}
    assert any(re.fullmatch(r"plant_plugin/config/packaged/(data|methods)/\w+\.yml", name) for name in names)
    assert registry == (ROOT / "registry.yaml").read_bytes()
    assert f"\nVersion: {__version__}\n" in metadata
    assert "\nRequires-Dist: setuptools<81\n" in metadata
    assert all(f"\nProvides-Extra: {extra}\n" in metadata for extra in ("llm", "xclib", "dev"))
    assert "libmultilabel = plant_plugin.cli:libmultilabel" in entry_points
    assert "plant = plant_plugin.cli:plant" in entry_points


def test_the_sdist_holds_what_building_and_testing_need(built: Path) -> None:
    with tarfile.open(next(built.glob("*.tar.gz"))) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    wanted = {
        "registry.yaml",
        "pyproject.toml",
        "constraints.txt",
        "Makefile",
        "LICENSE",
        "README.md",
        "tests/conftest.py",
    }
    assert wanted <= names
    assert not any(name.startswith(("runs/", "data/", "shared")) for name in names)


def test_the_commands_work_far_from_the_checkout(installed: Path, tmp_path: Path) -> None:
    where = run(installed / "python", "-c", "import plant_plugin; print(plant_plugin.__file__)", folder=tmp_path)
    assert Path(where.strip()).is_relative_to(installed.parent)
    assert "--stage1.k" in run(installed / "libmultilabel", "--help", folder=tmp_path)
    assert "BiGRULWAN" in run(installed / "plant", "list", "networks", folder=tmp_path)
    assert "laat.yml" in run(installed / "plant", "list", "configurations", folder=tmp_path)
    assert "no problems found" in run(installed / "plant", "validate", "plant_demo.yml", folder=tmp_path)


def test_the_version_is_one() -> None:
    assert f"\nversion: {__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_dependencies_and_constraints_agree() -> None:
    """Every declared dependency has its tested version, and that version is in the declared range."""
    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    if sys.version_info < (3, 11):
        pytest.skip("needs tomllib, which Python has since 3.11")
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = [
        *project["dependencies"],
        *(one for extra in project["optional-dependencies"].values() for one in extra),
    ]
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    tested = dict(line.split("==") for line in lines if not line.startswith("#"))
    versions = {canonicalize_name(name): version for name, version in tested.items()}
    for text in declared:
        requirement = Requirement(text)
        assert requirement.specifier.contains(versions[canonicalize_name(requirement.name)]), text


def test_the_wheel_of_the_models_holds_them_whole(tmp_path: Path) -> None:
    models = ROOT / "benchmarks" / "models"
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", tmp_path, models, folder=tmp_path)
    (wheel,) = tmp_path.glob("plant_plugin_models-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert packed == {
        path.relative_to(models).as_posix()
        for path in (models / "plant_plugin_models").rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    assert any(name.endswith("planted_scores.npz") for name in packed)
