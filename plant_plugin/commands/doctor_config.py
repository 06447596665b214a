"""``plant doctor --config``: what training a configuration needs, from the formula in ``networks/footprint.py``."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from plant_plugin.config.options import PLANTED_SCORES
from plant_plugin.errors import ConfigError

if TYPE_CHECKING:
    from plant_plugin.config import Config
    from plant_plugin.networks.footprint import Footprint

PEAKS = {"A100": 312e12, "H200": 989e12}  # bf16 operations a second with dense matrices, as their maker states them
SHARE = 0.35  # of the peak that training is taken to reach: an assumption, not a measurement
GIB = 1024**3
RELEVANCE_BYTES = 16  # of an entry: value and place, by label and by word
STAND_IN = {"training_file": "demo:train", "val_file": "demo:valid", "test_file": "demo:test"}


@dataclass(frozen=True)
class Numbers:
    """What was said on the command line instead of being read or counted.

    Attributes:
        tokens: T, of the longest document of a batch; None: ``max_seq_length``.
        labels: L; None: counted in the training file.
        documents: Training documents; None: counted in the training file.
        words: V of a word-level encoder; None: counted in the training file.
    """

    tokens: int | None = None
    labels: int | None = None
    documents: int | None = None
    words: int | None = None


def show_needs(config: str, numbers: Numbers, *, on_gpu: bool) -> None:
    """Print parameters, memory part by part, checkpoint and time of a configuration.

    Args:
        config: A file or the name of a packaged configuration.
        numbers: What needs not be read or counted.
        on_gpu: Whether it is to run on a GPU.

    Raises:
        ConfigError: It is not PLANT, or a number is neither given nor to be counted.
    """
    from plant_plugin.config import load_config
    from plant_plugin.networks.footprint import footprint, plan_of, words_footprint

    counts = (numbers.documents, numbers.labels)
    stand_in = {} if None in counts else STAND_IN  # nothing is counted: no file has to be there
    settings = load_config(config, stand_in)
    network = settings.network_config
    over_language_model = bool(network.get("lm_weight"))
    if settings.model_name != "PLANT" or network.get("freeze_encoder") or settings.strategy == PLANTED_SCORES:
        raise ConfigError(
            "memory is worked out for PLANT without freeze_encoder only",
            where=f"model_name: {settings.model_name}, strategy: {settings.strategy}",
            fix="leave out --config to see what is installed; try others with --limit_train_batches 2",
        )
    tokens = numbers.tokens or settings.max_seq_length
    if tokens is None:
        raise ConfigError("documents are read whole, however long", where="max_seq_length", fix="give --tokens NUMBER")
    documents, labels = counts
    if labels is None or documents is None:
        counted = _counted(settings.training_file)
        documents, labels = documents or counted[0], labels or counted[1]
    values = {name: getattr(settings, name) for name in ("network_config", "precision", "strategy", "batch_size")}
    plan = plan_of(values, {"stage1": settings.stage1, "stage2": settings.stage2}, tokens, labels, on_gpu=on_gpu)
    if over_language_model:
        found = footprint(_shape(network), plan)
    else:
        vocabulary = _vocabulary(settings) if numbers.words is None else numbers.words
        file = settings.embed_file
        found = words_footprint(plan, vocabulary, _width_of_vectors(file) if file else plan.network.embed_dim)
    unit = "sub-words" if over_language_model else "words"
    click.echo(f"{settings.config_path}: {documents:,} documents of {tokens:,} {unit}, {labels:,} labels, ", nl=False)
    click.echo(f"{plan.batch_size} a batch, on a {'GPU' if on_gpu else 'processor'}")
    _show(found, "language model" if over_language_model else "words and encoder", documents * tokens, on_gpu=on_gpu)
    if plan.network.strength is not None or settings.strategy == "plant":
        table = labels * settings.relevance.top * RELEVANCE_BYTES / GIB
        click.echo(f"  main memory     {table:.2f} GiB at most for the relevance of words, besides the documents")


def _show(found: Footprint, of_what: str, positions: int, *, on_gpu: bool) -> None:
    click.echo(f"  parameters      {found.parameters:,} of the {of_what}; {found.trained:,} train, with the head")
    for part, size in found.bytes.items():
        click.echo(f"    {part:<30} {size / GIB:8.2f} GiB")
    click.echo(f"  memory          {found.total / GIB:.2f} GiB at the peak, besides the libraries' own")
    click.echo(f"  checkpoint      {found.checkpoint / GIB:.2f} GiB")
    click.echo(f"  arithmetic      {found.flops * positions:.3g} operations an epoch at most")
    if on_gpu:
        hours = {name: found.flops * positions / (peak * SHARE) / 3600 for name, peak in PEAKS.items()}
        told = ", ".join(
            f"{value:.1f} h on one {name}" if value >= 1 else f"{60 * value:.1f} min on one {name}"
            for name, value in hours.items()
        )
        click.echo(f"  an epoch        {told}, if {SHARE:.0%} of its bf16 peak are reached (assumed, not measured)")


def _shape(network: dict[str, Any]) -> Any:
    """Transformers' configuration: of a preset from the list, without a connection; else from where the weights lie."""
    from transformers import AutoConfig

    from plant_plugin.config import registry
    from plant_plugin.networks.backbone.loading import read_config

    name = network["lm_weight"]
    preset = None if Path(name).is_dir() else registry.entries("backbones").get(name)
    if preset is None or preset.shape is None:
        return read_config(name, bool(network.get("trust_remote_code")))
    return AutoConfig.for_model(**preset.shape)


def _vocabulary(settings: Config) -> int:
    """Words of the vocabulary, counted by the rules of a run."""
    from plant_plugin.data.text import read_libmultilabel_text
    from plant_plugin.data.word_tokens import WordTokens

    if settings.vocab_file:
        return WordTokens.from_file(settings.vocab_file).size
    texts = read_libmultilabel_text(_countable(settings.training_file, "--words")).texts
    return WordTokens.build(texts, settings.min_vocab_freq).size


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
