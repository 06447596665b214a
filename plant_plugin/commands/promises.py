"""``--promise`` and ``--accept``: thresholds by what they promise, see :mod:`plant_plugin.evaluation.promises`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from plant_plugin.commands import shared
from plant_plugin.errors import ConfigError

if TYPE_CHECKING:
    from plant_plugin.evaluation.promises import Outcome


def promise_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add ``--threshold``, ``--top`` and both to a command, which gets the threshold that they name."""

    @shared.threshold_option(help="Labels above it; default: micro, tuned on validation, else 0.5.")
    @click.option("--top", type=shared.COUNT, help="At most so many labels; without --threshold the best so many.")
    @click.option(
        "--promise", type=float, metavar="SHARE", help="List this share of a document's true labels, on average."
    )
    @click.option("--accept", type=float, metavar="SHARE", help="List only labels of which this share is true.")
    @functools.wraps(command)
    def with_promise(
        *,
        model: Path,
        threshold: float | str | None,
        top: int | None,
        promise: float | None,
        accept: float | None,
        **options: object,
    ) -> None:
        asked = {"promise": promise, "accept": accept}
        if wanted := {kind: share for kind, share in asked.items() if share is not None}:
            others = {name for name, value in (("threshold", threshold), ("top", top)) if value is not None}
            if len(others | wanted.keys()) > 1:
                what = f"{' and '.join(sorted(others | wanted.keys()))} both say how many labels are listed"
                raise ConfigError(what, where=f"--{min(wanted)}", fix="give one of them")
            [(kind, share)] = wanted.items()
            threshold = _threshold(model, kind, share)
            click.get_current_context().params["threshold"] = threshold  # a resumed output compares it
        command(model=model, threshold=threshold, top=top, **options)

    return with_promise


def _threshold(model: Path, kind: str, share: float) -> str:
    """Return the name of the threshold, and say what is promised, or why it cannot be."""
    from plant_plugin.evaluation.promises import SHARES, Outcome, named
    from plant_plugin.model.folder import read_labels
    from plant_plugin.model.places import model_folder
    from plant_plugin.report.promises import read_promises

    if share not in SHARES[kind]:
        fix = f"take one of {', '.join(map(str, SHARES[kind]))}"
        raise ConfigError(f"{share:g} is promised by no model", where=f"--{kind}", fix=fix)
    name, folder = named(kind, share), model_folder(model)
    promises = read_promises(folder)
    splits = {"val": promises.get("val", {}), "test": promises.get("test", {})}
    said: dict[str, Outcome] = {split: outcomes[name] for split, outcomes in splits.items() if name in outcomes}
    if name not in read_labels(folder)[1]:
        what = f"the model does not promise {share:g}: {_why(kind, said.get('val', Outcome()))}"
        raise ConfigError(what, where=f"--{kind}", fix="promise less, or train with more validation documents")
    of = "of a document's true labels are listed" if kind == "promise" else "of the labels that are listed are true"
    known = "of the labels that the model knows, on documents like those of its validation"
    click.echo(f"{share:.0%} {of}, {known}", err=True)
    for split, outcome in said.items():
        measured = outcome["listed"] if kind == "promise" else outcome.get("true")
        reached = "none is listed" if measured is None else f"{measured:.1%}"
        click.echo(f"  {split}: {reached}, {outcome['labels']:.1f} labels a document", err=True)
    return name


def _why(kind: str, outcome: Outcome) -> str:
    """Return why there is no threshold."""
    if "needs" in outcome:
        return f"at least {outcome['needs']:,} validation documents, or labels there above 0.5, are needed"
    if "most" in outcome and kind == "accept":
        return f"of its likeliest labels of validation documents {outcome['most']:.1%} are true, too few to show it"
    if "most" in outcome:
        return f"on validation documents no threshold reaches more than {outcome['most']:.1%}"
    return "it was trained without validation documents or before promises were made, or these did not show it"
