"""``plant evaluate --near-misses``: how far off wrong labels are, see :mod:`plant_plugin.evaluation.near_misses`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from plant_plugin.errors import ConfigError

if TYPE_CHECKING:
    import scipy.sparse as sp

    from plant_plugin.evaluation.near_misses import Distance, NearMisses, OfLevel
    from plant_plugin.evaluation.store import Matrix


def _is_there(context: click.Context, parameter: click.Parameter, given: str | None) -> str | None:
    if given and not Path(given).is_file():
        raise ConfigError("there is no such file", where=f"--near-misses {given}", fix="check the path")
    return given


near_misses_option = click.option(
    "--near-misses", is_flag=False, flag_value="", metavar="[FILE]", callback=_is_there,
    help="Also by category and block: of ICD codes, or of a thesaurus or lines of label TAB broader label.",
)  # fmt: skip


def measured(
    given: str,
    scores: Matrix,
    truth: Matrix,
    labels: Sequence[str],
    thresholds: Mapping[str, float],
    removed: sp.csr_matrix | None,
) -> NearMisses:
    """Measure near misses by the file that the option names; empty: by the codes themselves."""
    from plant_plugin.evaluation.near_misses import near_misses
    from plant_plugin.model.hierarchy import levels_of

    levels = levels_of(labels, Path(given) if given else None)
    return near_misses(scores, truth, levels, thresholds, removed)


def print_near_misses(near: NearMisses) -> None:
    """Print the metrics of each level, then how far off labels are, in percent."""
    from plant_plugin.report.tables import percent

    levels: Mapping[str, OfLevel] = near["levels"]
    head = [f"{name} ({level['groups']:,})" for name, level in levels.items()]
    click.echo("\n" + _line("Metric, %", head))
    for metric in dict.fromkeys(metric for level in levels.values() for metric in level["metrics"]):
        click.echo(_line(metric, [percent(level["metrics"].get(metric)) for level in levels.values()]))
    for title, distances in (("Wrong labels with a true", near["wrong"]), ("Missed with a predicted", near["missed"])):
        click.echo("\n" + _line(f"{title} …, %", [*levels, "elsewhere", "labels"]))
        for threshold, distance in distances.items():
            click.echo(_line(f"@{threshold}", _cells(distance)))


def _cells(distance: Distance) -> list[str]:
    from plant_plugin.report.tables import percent

    return [*map(percent, distance["shares"].values()), f"{distance['pairs']:,}"]


def _line(name: str, cells: list[str]) -> str:
    return f"{name:<34}" + "".join(f"{cell:>20}" for cell in cells)
