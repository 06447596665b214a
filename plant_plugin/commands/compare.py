"""``plant compare``: results side by side, with paired tests against a baseline."""

from __future__ import annotations

from pathlib import Path

import click

from plant_plugin.commands.shared import COUNT, FILE
from plant_plugin.files import write_text

ENDINGS = (".md", ".csv", ".tex", ".html")


@click.command()
@click.argument("results", nargs=-1, required=True, metavar="RESULT...")
@click.option("--baseline", required=True, metavar="NAME", help="The system that the others are tested against.")
@click.option("--metric", "metrics", multiple=True, metavar="NAME", help="E.g. Micro-F1@micro; may be repeated.")
@click.option("--out", "outs", multiple=True, type=FILE,
              help=f"A file ending in {', '.join(ENDINGS)}; may be repeated.")  # fmt: skip
@click.option("--resamples", default=1000, show_default=True, type=COUNT, help="Of the documents.")
@click.option("--seed", default=0, show_default=True, type=int, help="Of the resamples.")
def compare(
    results: tuple[str, ...], baseline: str, metrics: tuple[str, ...], outs: tuple[Path, ...], resamples: int, seed: int
) -> None:
    """Compare RESULTs: files, run folders, or folders of seed1.json, seed2.json; NAME=PATH names a system.

    Tests need what `libmultilabel` and `plant evaluate` write beside result.json: per_document.npz (seed1.npz beside
    seed1.json). Without it there are means and deviations only. Prints Markdown unless --out is given.
    """
    from plant_plugin.errors import ConfigError, MissingExtraError
    from plant_plugin.report.compare import compare as compare_systems
    from plant_plugin.report.formats import FORMATS, markdown, page
    from plant_plugin.report.pictures import svg_of_comparison
    from plant_plugin.report.systems import load_systems

    for out in outs:
        if out.suffix not in FORMATS:
            fix = f"choose one of {', '.join(FORMATS)}"
            raise ConfigError(f"{out.name} has no ending of a table", where="--out", fix=fix)
    systems = load_systems(results)
    table = compare_systems(systems, baseline, metrics=metrics or None, resamples=resamples, seed=seed)
    if not outs:
        click.echo(markdown(table), nl=False)
    for out in outs:
        text = FORMATS[out.suffix](table)
        if out.suffix == ".html":
            try:
                text = page(table, svg_of_comparison(systems, table))
            except MissingExtraError as error:
                click.echo(f"Note: the page has no pictures: {error.format_message()}", err=True)
        write_text(out, text)
