"""``plant doctor``: what is installed, what it runs on, what is missing and how to get it."""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
import sys
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

import click

from plant_plugin.report.machine import processor_features, processor_name, usable_cores

DISTRIBUTION = "plant-plugin"
EXTRAS = {
    "llm": ("peft", "bitsandbytes", "accelerate"),
    "gpu": ("triton",),
    "xclib": ("xclib",),
    "search": ("ray", "optuna", "bayes_opt"),
}
EXTRA_USE = {
    "llm": "language models with LoRA and 4-bit weights",
    "gpu": "label attention and ranking loss in Triton on a GPU",
    "xclib": "propensity-scored metrics by pyxclib; the same numbers come from this package without it",
    "search": "hyper-parameters on Ray Tune: `plant search`",
}
XCLIB_FIX = (
    f"pip install '{DISTRIBUTION}[xclib]', then in a checkout of pyxclib: pip install --no-build-isolation --no-deps ."
)
GIB = 1024**3


@click.command(context_settings={"max_content_width": 120})
@click.option("--config", help="A configuration of PLANT: show what training it needs instead.")
@click.option("--tokens", type=click.IntRange(1), help="(Sub-)words of the longest documents; else max_seq_length.")
@click.option("--labels", type=click.IntRange(1), help="Labels; counted in the training file unless given.")
@click.option("--documents", type=click.IntRange(1), help="Training documents; counted unless given.")
@click.option("--words", type=click.IntRange(1), help="Words of the vocabulary, without a language model; as above.")
@click.option("--cpu", is_flag=True, help="For a processor instead of a GPU.")
def doctor(config: str | None, cpu: bool, **numbers: int | None) -> None:
    """Show versions, extras, devices, memory and disk; say how to mend what is missing.

    With --config: parameters, memory, checkpoint and time of a training run, from a formula.
    """
    if config is not None:
        from plant_plugin.commands.doctor_config import Numbers, show_needs

        show_needs(config, Numbers(**numbers), on_gpu=not cpu)
        return
    supported = sys.version_info >= (3, 10)
    _row(supported, "python", platform.python_version(), "use Python 3.10 or later")
    mended = [supported, *(_package(requirement) for requirement in _requirements())]
    for extra, modules in EXTRAS.items():
        missing = [module for module in modules if find_spec(module) is None]
        fix = XCLIB_FIX if extra == "xclib" else f"pip install '{DISTRIBUTION}[{extra}]'"
        told = f"{', '.join(missing)} not installed" if missing else "installed"
        click.echo(f"  extra {extra:<9} {told} ({EXTRA_USE[extra]})" + (f"\n      {fix}" if missing else ""))
    for name, text in (("gpu", _gpu()), ("processor", _processor()), ("memory", _memory()), ("disk", _disk())):
        click.echo(f"  {name:<15} {text}")
    if not all(mended):
        raise click.exceptions.Exit(1)


def _row(good: bool, name: str, text: str, fix: str) -> bool:
    mark = click.style("ok", fg="green") if good else click.style("!!", fg="red")
    click.echo(f"{mark} {name:<15} {text}" + ("" if good else f"\n      {fix}"))
    return good


def _requirements() -> list[str]:
    """What this package declares without extras; nothing where it runs from a bare checkout."""
    try:
        declared = metadata.requires(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        _row(False, DISTRIBUTION, "runs from a folder, without its metadata", "pip install -e . in that folder")
        return ["libmultilabel", "torch", "lightning", "transformers", "torchmetrics", "setuptools<81"]
    return [requirement for requirement in declared if "extra ==" not in requirement]


def _package(requirement: str) -> bool:
    """Show one package; False when it is missing or outside the range."""
    name = re.split(r"[\s<>=!~\[(;]", requirement, maxsplit=1)[0]
    try:
        from packaging.requirements import Requirement
    except ModuleNotFoundError:  # what is missing may be this; then ranges cannot be compared
        specifier = None
    else:
        wanted = Requirement(requirement)
        if wanted.marker is not None and not wanted.marker.evaluate():
            return True
        specifier = wanted.specifier
    fix = f"pip install '{requirement}'"
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        return _row(False, name, "not installed", fix)
    if specifier is not None and not specifier.contains(version, prereleases=True):
        return _row(False, name, f"{version}, but {specifier} is needed", fix)
    return _row(True, name, version, fix)


def _gpu() -> str:
    """Names and memory from the driver's own tool: asking PyTorch would take seconds."""
    try:
        build = metadata.version("torch").partition("+")[2]
    except metadata.PackageNotFoundError:
        build = ""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return "none found; training runs on the processor"
    query = [tool, "--query-gpu=name,memory.total", "--format=csv,noheader"]
    try:
        found = subprocess.run(query, capture_output=True, text=True, timeout=10, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return "nvidia-smi fails: the driver is not loaded; training runs on the processor"
    note = " (but this PyTorch is a build without GPU support)" if build == "cpu" else ""
    return "; ".join(found.splitlines()) + note


def _processor() -> str:
    features = processor_features()
    hint = "; language models train faster with --precision bf16" if any("bf16" in name for name in features) else ""
    return ", ".join([processor_name(), f"{usable_cores()} cores", *features]) + hint


def _memory() -> str:
    try:
        import psutil
    except ModuleNotFoundError:
        return "unknown: psutil is not installed"
    memory = psutil.virtual_memory()
    return f"{memory.available / GIB:.1f} GiB free of {memory.total / GIB:.1f}"


def _disk() -> str:
    disk = shutil.disk_usage(Path.cwd())
    return f"{disk.free / GIB:.1f} GiB free of {disk.total / GIB:.1f} in {Path.cwd()}"
