"""``plant bench`` and ``plant plot``: several systems on one's own documents, and the learning curves of runs."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import click

from plant_plugin.commands.flags import ConfigCommand, overrides_from
from plant_plugin.commands.shared import COUNT, FILE, FOLDER
from plant_plugin.commands.silent import teller
from plant_plugin.errors import ConfigError, PlantError

SYSTEMS = "linear,scores,plant,caml"


@click.command(cls=ConfigCommand)
@click.argument("file")
@click.option("--systems", default=SYSTEMS, show_default=True, metavar="NAME,…",
              help="Also laat, every method of `plant list configurations`, or a YAML file.")  # fmt: skip
@click.option("--seeds", default=3, show_default=True, type=COUNT, help="So many runs of each; 3 for a verdict.")
@click.option("--baseline", metavar="NAME", help="What the others are tested against.  [default: the first system]")
@click.option("--out", type=FOLDER, default=Path("bench"), show_default=True, help="The folder of runs and table.")
def bench(file: str, systems: str, seeds: int, baseline: str | None, out: Path, **flags: object) -> None:
    """Train and test several systems on FILE, your documents, and print one table with tests, curves and cost.

    All have the same documents to learn from and to be tested on: a file called train goes with valid and test beside
    it; of any other a fifth is drawn for the test and a fifth of the rest for validation. What suits the documents is
    chosen once for each system, as by plant train. The same command goes on where it was stopped, and with more
    systems or seeds it trains only those. A system that fails is named below the table.

    Keys of the configuration hold for all systems; those with a dot for networks of this package.
    """
    say = teller(flags)
    from plant_plugin.report.bench_table import write_bench
    from plant_plugin.training.bench import bench as run_bench

    names = [name for name in systems.split(",") if name]
    done = run_bench(file, names, seeds, out, overrides_from(flags), say)
    if not done.systems:
        reasons = "".join(f"\n  {name}: {reason}" for name, reason in done.failed.items())  # each with what mends it
        raise PlantError(f"no system has a result{reasons}", where=str(out))
    table, written = write_bench(out, done.systems, baseline or done.systems[0].name, done.runs, done.failed)
    click.echo(table, nl=False)
    say(f"written: {', '.join(map(str, written))}")


@click.command()
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option("--metric", "metrics", multiple=True, metavar="NAME",
              help="A panel of its own; may be repeated, `loss` is that of training.")  # fmt: skip
@click.option("--out", type=FILE, default=Path("curves.svg"), show_default=True, help="The picture, SVG.")
def plot(runs: tuple[str, ...], metrics: tuple[str, ...], out: Path) -> None:
    """Draw the learning curves of RUNs, run folders: what validation documents say after each epoch.

    NAME=RUN names a system; runs of one name have one colour.
    """
    from plant_plugin.files import atomic_write
    from plant_plugin.report.curves import svg_of_curves

    folders: dict[str, list[Path]] = defaultdict(list)
    for run in runs:
        name, _, folder = run.rpartition("=") if not Path(run).exists() else (Path(run).name, "", run)
        if not Path(folder).is_dir():
            raise ConfigError("there is no such folder of a run", where=folder, fix="name what plant train has printed")
        folders[name or Path(folder).name].append(Path(folder))
    picture = svg_of_curves(folders, metrics)
    with atomic_write(out) as temporary:
        temporary.write_bytes(picture)
    click.echo(f"written: {out}", err=True)
