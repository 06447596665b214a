"""``plant doctor``: what is installed, what it runs on, what is missing; of a configuration, what training needs."""

from __future__ import annotations

import itertools
import platform
import re
import shutil
import subprocess
import sys
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import click

from plant_plugin.commands.shared import COUNT
from plant_plugin.config import load_config, registry
from plant_plugin.config.options import PLANTED_SCORES
from plant_plugin.config.values import Keys
from plant_plugin.errors import ConfigError
from plant_plugin.report.machine import processor_features, processor_name, usable_cores

if TYPE_CHECKING:
    from transformers import PretrainedConfig

    from plant_plugin.networks.footprint import Footprint

DISTRIBUTION = "plant-plugin"
EXTRAS = {  # their modules, and what for
    "llm": (("peft", "bitsandbytes", "accelerate", "gguf"), "language models with LoRA, in 4 bits, from GGUF files"),
    "gpu": (("triton",), "label attention and ranking loss in Triton on a GPU"),
    "xclib": (("xclib",), "propensity-scored metrics by pyxclib; the same numbers come from this package without it"),
    "search": (("ray", "optuna", "bayes_opt"), "hyper-parameters on Ray Tune: `plant search`"),
}
XCLIB_FIX = (
    f"pip install '{DISTRIBUTION}[xclib]', then in a checkout of pyxclib: pip install --no-build-isolation --no-deps ."
)
PEAKS = {"A100": 312e12, "H200": 989e12}  # bf16 operations a second with dense matrices, as their maker states them
SHARE = 0.35  # of the peak that training is taken to reach: an assumption, not a measurement
GIB = 1024**3
RELEVANCE_BYTES = 16  # of an entry: value and place, by label and by word
STAND_IN = {"training_file": "demo:train", "val_file": "demo:valid", "test_file": "demo:test"}


@click.command()
@click.option("--config", help="A configuration of PLANT: show what training it needs instead.")
@click.option("--tokens", type=COUNT, help="(Sub-)words of the longest documents; else max_seq_length.")
@click.option("--labels", type=COUNT, help="Labels; counted in the training file unless given.")
@click.option("--documents", type=COUNT, help="Training documents; counted unless given.")
@click.option("--words", type=COUNT, help="Words of the vocabulary, without a language model; as above.")
@click.option("--cpu", is_flag=True, help="For a processor instead of a GPU.")
def doctor(config: str | None, cpu: bool, **numbers: int | None) -> None:
    """Show versions, extras, devices, memory and disk; say how to mend what is missing.

    With --config: parameters, memory, checkpoint and time of a training run, from a formula.
    """
    if config is not None:
        _show_needs(config, **numbers, on_gpu=not cpu)
        return
    supported = sys.version_info >= (3, 10)
    _check("python", platform.python_version(), None if supported else "use Python 3.10 or later")
    mended = [supported, *(_package(requirement) for requirement in _requirements())]
    for extra, (modules, use) in EXTRAS.items():
        missing = [module for module in modules if find_spec(module) is None]
        fix = XCLIB_FIX if extra == "xclib" else f"pip install '{DISTRIBUTION}[{extra}]'"
        told = f"{', '.join(missing)} not installed" if missing else "installed"
        _row(f"extra {extra}", f"{told} ({use})", fix if missing else None)
    _row("gpu", _gpu())
    _row("processor", _processor())
    _row("memory", _memory())
    _row("disk", _disk())
    if not all(mended):
        raise click.exceptions.Exit(1)


def _row(name: str, text: str, fix: str | None = None, mark: str = " ") -> None:
    click.echo(f"{mark} {name:<15} {text}" + (f"\n      {fix}" if fix else ""))


def _check(name: str, text: str, fix: str | None = None) -> bool:
    """A row with a mark; False where something is to be mended."""
    _row(name, text, fix, click.style("!!", fg="red") if fix else click.style("ok", fg="green"))
    return fix is None


def _requirements() -> list[str]:
    """What this package declares without extras; nothing where it runs from a bare checkout."""
    try:
        declared = metadata.requires(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        _check(DISTRIBUTION, "runs from a folder, without its metadata", "pip install -e . in that folder")
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
        return _check(name, "not installed", fix)
    if specifier is not None and not specifier.contains(version, prereleases=True):
        return _check(name, f"{version}, but {specifier} is needed", fix)
    return _check(name, version)


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


def _show_needs(
    config: str, tokens: int | None, labels: int | None, documents: int | None, words: int | None, *, on_gpu: bool
) -> None:
    """Print parameters, memory part by part, checkpoint and time of a configuration; what is None is counted."""
    from plant_plugin.networks.footprint import footprint, plan_of, words_footprint

    settings = load_config(config, {} if labels is None or documents is None else STAND_IN)  # no file has to be there
    network = settings.network_config
    over_language_model = bool(network.get("lm_weight"))
    if settings.model_name != "PLANT" or network.get("freeze_encoder") or settings.strategy == PLANTED_SCORES:
        what = "memory is worked out for PLANT without freeze_encoder only"
        fix = "leave out --config to see what is installed; try others with --limit_train_batches 2"
        raise ConfigError(what, where=f"model_name: {settings.model_name}, strategy: {settings.strategy}", fix=fix)
    tokens = tokens or settings.max_seq_length
    if tokens is None:
        raise ConfigError("documents are read whole, however long", where="max_seq_length", fix="give --tokens NUMBER")
    if labels is None or documents is None:
        counted = _counted(settings.training_file)
        documents, labels = documents or counted[0], labels or counted[1]
    plan = plan_of(settings, tokens, labels, on_gpu=on_gpu)
    if over_language_model:
        unit, of_what, found = "sub-words", "language model", footprint(_shape(network), plan)
    else:
        file = settings.embed_file
        width = _width_of_vectors(file) if file else plan.network.embed_dim
        if words is None:
            words = _vocabulary(settings.vocab_file, settings.training_file, settings.min_vocab_freq)
        found = words_footprint(plan, words, width)
        unit, of_what = "words", "words and encoder"
    click.echo(f"{settings.config_path}: {documents:,} documents of {tokens:,} {unit}, {labels:,} labels, ", nl=False)
    click.echo(f"{plan.batch_size} a batch, on a {'GPU' if on_gpu else 'processor'}")
    _show_footprint(found, of_what, documents * tokens, on_gpu=on_gpu)
    if plan.network.strength is not None or settings.strategy == "plant":
        table = labels * settings.relevance.top * RELEVANCE_BYTES / GIB
        _row("main memory", f"{table:.2f} GiB at most for the relevance of words, besides the documents")


def _show_footprint(found: Footprint, of_what: str, positions: int, *, on_gpu: bool) -> None:
    _row("parameters", f"{found.parameters:,} of the {of_what}; {found.trained:,} train, with the head")
    for part, size in found.bytes.items():
        click.echo(f"    {part:<30} {size / GIB:8.2f} GiB")
    _row("memory", f"{found.total / GIB:.2f} GiB at the peak, besides the libraries' own")
    _row("checkpoint", f"{found.checkpoint / GIB:.2f} GiB")
    _row("arithmetic", f"{found.flops * positions:.3g} operations an epoch at most")
    if on_gpu:
        hours = {name: found.flops * positions / (peak * SHARE) / 3600 for name, peak in PEAKS.items()}
        told = ", ".join(
            f"{value:.1f} h on one {name}" if value >= 1 else f"{60 * value:.1f} min on one {name}"
            for name, value in hours.items()
        )
        _row("an epoch", f"{told}, if {SHARE:.0%} of its bf16 peak are reached (assumed, not measured)")


def _shape(network: Keys) -> PretrainedConfig:
    """Transformers' configuration: of a preset from the list, without a connection; else from where the weights lie."""
    from transformers import AutoConfig

    from plant_plugin.networks.backbone.loading import read_config

    name = network["lm_weight"]
    preset = None if Path(name).is_dir() else registry.entries("backbones").get(name)
    if preset is None or preset.shape is None:
        return read_config(name, bool(network.get("trust_remote_code")))
    return AutoConfig.for_model(**preset.shape)


def _vocabulary(vocab_file: str | None, training_file: str | None, min_vocab_freq: int) -> int:
    """Words of the vocabulary, counted by the rules of a run."""
    from plant_plugin.data.text import read_libmultilabel_text
    from plant_plugin.data.word_tokens import WordTokens

    if vocab_file:
        return WordTokens.from_file(vocab_file).size
    texts = read_libmultilabel_text(_countable(training_file, "--words")).texts
    return WordTokens.build(texts, min_vocab_freq).size


def _width_of_vectors(embed_file: str) -> int:
    """Of GloVe vectors by their name, else of the second line of a file; the first may be a header."""
    if not Path(embed_file).is_file():
        return int(embed_file.rpartition(".")[2].removesuffix("d"))
    with open(embed_file, encoding="utf-8") as stream:
        return len([*itertools.islice(stream, 2)][-1].split()) - 1


def _counted(training_file: str | None) -> tuple[int, int]:
    """Documents and labels of a training file."""
    from plant_plugin.data.text import read_libmultilabel_text

    found = read_libmultilabel_text(_countable(training_file, "--labels and --documents"), keep_texts=False).labels
    return len(found), len({label for labels in found for label in labels})


def _countable(training_file: str | None, flags: str) -> str:
    if training_file is None:
        raise ConfigError("there is none to count", where="training_file", fix=f"give {flags}")
    if training_file.startswith("demo:"):
        raise ConfigError("the built-in data are not counted", where="training_file", fix=f"give {flags}")
    return training_file
