"""``plant stats``: what is in training files."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("files", nargs=-1, required=True)
@click.option("--png", type=click.Path(path_type=Path, dir_okay=False), help="Draw the label frequencies into FILE.")
def stats(files: tuple[str, ...], png: Path | None) -> None:
    """Count documents, labels and words of FILES; the first one is the training file.

    Tells how labels are distributed over frequency bins, which labels training never shows, which texts stand twice
    or in two files, and how much evidence there is where train_evidence.tsv lies beside train.txt.
    """
    from plant_plugin.prepare.stats import draw_histogram, frequency_bins, read_stats, summary

    found = [read_stats(name) for name in files]
    for row in summary(found):
        click.echo(row.pop("file"))
        for name, value in row.items():
            shown = f"{value:,}" if isinstance(value, int) else value
            click.echo(f"  {name:<45} {shown:>18}")
    click.echo("labels by number of training documents; share of the labels given in each file")
    for name, labels, shares in frequency_bins(found):
        click.echo(f"  {name:<10} {labels:>10,} labels  " + "  ".join(f"{share:>9}" for share in shares))
    if png is not None:
        draw_histogram(found[0].label_counts.values(), png)
        click.echo(f"written: {png}")
