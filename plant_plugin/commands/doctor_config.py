"""``plant doctor --config``: what training a configuration needs, from the formula in ``networks/footprint.py``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from plant_plugin.errors import ConfigError

if TYPE_CHECKING:
    from plant_plugin.networks.footprint import Footprint

PEAKS = {"A100": 312e12, "H200": 989e12}  # bf16 operations a second with dense matrices, as their maker states them
SHARE = 0.35  # of the peak that training is taken to reach: an assumption, not a measurement
GIB = 1024**3
STAND_IN = {"training_file": "demo:train", "val_file": "demo:valid", "test_file": "demo:test"}


def show_needs(config: str, tokens: int | None, labels: int | None, documents: int | None, *, on_gpu: bool) -> None:
    """Print parameters, memory part by part, checkpoint and time of a configuration.

    Args:
        config: A file or the name of a packaged configuration.
        tokens: T, sub-words of the longest document of a batch; None: ``max_seq_length``.
        labels: L; None: counted in the training file.
        documents: Training documents; None: counted in the training file.
        on_gpu: Whether it is to run on a GPU.

    Raises:
        ConfigError: It is not PLANT over a language model, or a number is neither given nor to be counted.
    """
    from plant_plugin.config import load_config
    from plant_plugin.networks.footprint import footprint, plan_of

    stand_in = {} if labels is None or documents is None else STAND_IN  # nothing is counted: no file has to be there
    settings = load_config(config, stand_in)
    if settings.model_name != "PLANT" or not settings.network_config.get("lm_weight"):
        raise ConfigError(
            "memory is worked out for PLANT over a language model only",
            where=f"model_name: {settings.model_name}",
            fix="leave out --config to see what is installed; try others with --limit_train_batches 2",
        )
    tokens = tokens or settings.max_seq_length
    if tokens is None:
        raise ConfigError("documents are read whole, however long", where="max_seq_length", fix="give --tokens NUMBER")
    if labels is None or documents is None:
        counted = _counted(settings.training_file)
        documents, labels = documents or counted[0], labels or counted[1]
    values = {name: getattr(settings, name) for name in ("network_config", "precision", "strategy", "batch_size")}
    plan = plan_of(values, {"stage1": settings.stage1, "stage2": settings.stage2}, tokens, labels, on_gpu=on_gpu)
    found = footprint(_shape(settings.network_config), plan)
    click.echo(
        f"{settings.config_path}: {documents:,} documents of {tokens:,} sub-words, {labels:,} labels, ", nl=False
    )
    click.echo(f"{plan.batch_size} a batch, on a {'GPU' if on_gpu else 'processor'}")
    _show(found, documents * tokens, on_gpu=on_gpu)


def _show(found: Footprint, positions: int, *, on_gpu: bool) -> None:
    click.echo(f"  parameters      {found.parameters:,} of the language model; {found.trained:,} train, with the head")
    for part, size in found.bytes.items():
        click.echo(f"    {part:<30} {size / GIB:8.2f} GiB")
    click.echo(f"  memory          {found.total / GIB:.2f} GiB at the peak, besides the libraries' own")
    click.echo(f"  checkpoint      {found.checkpoint / GIB:.2f} GiB")
    click.echo(f"  arithmetic      {found.flops * positions:.3g} operations an epoch at most")
    if on_gpu:
        hours = {name: found.flops * positions / (peak * SHARE) / 3600 for name, peak in PEAKS.items()}
        told = ", ".join(f"{value:.1f} h on one {name}" for name, value in hours.items())
        click.echo(f"  an epoch        {told}, if {SHARE:.0%} of its bf16 peak are reached (assumed, not measured)")


def _shape(network: dict[str, Any]) -> Any:
    """Transformers' configuration: of a preset from the list, without a connection; else from where the weights lie."""
    from transformers import AutoConfig

    from plant_plugin import registry
    from plant_plugin.networks.backbone.loading import read_config

    name = network["lm_weight"]
    preset = None if Path(name).is_dir() else registry.entries("backbones").get(name)
    if preset is None or preset.shape is None:
        return read_config(name, bool(network.get("trust_remote_code")))
    return AutoConfig.for_model(**preset.shape)


def _counted(training_file: str) -> tuple[int, int]:
    """Documents and labels of a training file."""
    from plant_plugin.data.libmultilabel_txt import read_libmultilabel_text

    if training_file.startswith("demo:"):
        raise ConfigError(
            "the built-in data are not counted", where="training_file", fix="give --labels and --documents"
        )
    found = read_libmultilabel_text(training_file, keep_texts=False).labels
    return len(found), len({label for labels in found for label in labels})
