"""``plant stats`` and ``plant embeddings``: what is in training files, and word vectors made of one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from plant_plugin.commands.reading import Flags, columns_of, reads_files
from plant_plugin.commands.shared import COUNT, FILE, json_option, names_option
from plant_plugin.commands.shared import as_json as json_text
from plant_plugin.evaluation.said import counted

if TYPE_CHECKING:
    from plant_plugin.data.label_names import LabelName
    from plant_plugin.prepare.stats import FileStats


@click.command()
@click.argument("files", nargs=-1, required=True)
@click.option("--png", type=FILE, help="Draw the label frequencies into FILE.")
@names_option
@reads_files
@json_option
def stats(files: tuple[str, ...], png: Path | None, names: tuple[str, ...], flags: Flags, as_json: bool) -> None:
    """Count documents, labels and words of FILES; the first one is the training file.

    Shows how labels are distributed over frequency bins, which labels training never shows, how many have a name, in
    --names or in label_names.tsv beside the first file, which texts are there twice or in two files, and how much
    evidence there is where train_evidence.tsv lies beside train.txt.
    """
    from plant_plugin.data.label_column import Trained
    from plant_plugin.prepare.stats import draw_histogram, frequency_bins, read_stats, summary

    columns = columns_of(flags)
    found = [read_stats(files[0], columns)]
    after = Trained(found[0].column, frozenset(found[0].label_counts))
    found += [read_stats(name, columns._replace(after=after)) for name in files[1:]]
    rows, lines = _names(names, found)
    if as_json:
        bins = [{"bin": name, "labels": labels, "shares": shares} for name, labels, shares in frequency_bins(found)]
        click.echo(json_text({"files": summary(found, rows), "labels by training documents": bins, "names": lines}))
    else:
        _show_stats(summary(found, rows), frequency_bins(found))
        click.echo("".join(f"{line}\n" for line in lines), nl=False)
    if png is not None:
        draw_histogram(found[0].label_counts.values(), png)
        click.echo(f"written: {png}", err=as_json)


def _names(sources: Sequence[str], found: Sequence[FileStats]) -> tuple[list[LabelName] | None, list[str]]:
    """Return the names of labels, None where there are none, and lines of what is to be said of them."""
    from plant_plugin.data.documents import source_path
    from plant_plugin.data.label_names import label_name_rows
    from plant_plugin.data.names_beside import names_in

    beside = names_in(source_path(found[0].name).parent)
    sources = sources or [str(beside)] * (beside is not None)
    if not sources:
        return None, []
    labels, lines = set[str]().union(*(stats.label_counts for stats in found)), list[str]()
    rows = label_name_rows(sources, labels, lines.append)
    named = len({row.label for row in rows})
    return rows, [*lines, f"{counted(len(rows), 'name')} of {counted(named, 'label')} in {', '.join(sources)}"]


def _show_stats(rows: list[dict[str, str | int]], bins: Iterable[tuple[str, int, Iterable[str]]]) -> None:
    for row in rows:
        click.echo(row.pop("file"))
        for name, value in row.items():
            shown = f"{value:,}" if isinstance(value, int) else value
            click.echo(f"  {name:<45} {shown:>18}")
    click.echo("labels by number of training documents; share of the labels given in each file")
    for name, labels, shares in bins:
        click.echo(f"  {name:<10} {labels:>10,} labels  " + "  ".join(f"{share:>9}" for share in shares))


@click.command()
@click.argument("train")
@click.option("--out", required=True, type=FILE, help="The file to write.")
@click.option("--dim", default=100, show_default=True, type=COUNT, help="Size of the vectors.")
@click.option("--min_count", default=3, show_default=True, type=COUNT, help="Documents that must hold a word.")
@click.option("--epochs", type=COUNT, help="Passes over the text.  [default: until 10 million words are seen, 5 to 50]")
@click.option("--seed", default=1, show_default=True, type=click.IntRange(min=0), help="Seed of the training.")
@click.option("--allow_bad_lines", is_flag=True, help="Leave out lines that are not of the format.")
@reads_files
def embeddings(train: str, out: Path, flags: Flags, **options: Any) -> None:
    """Train word2vec on the training file TRAIN, as LibMultiLabel's embed_file and vocab_file."""
    from plant_plugin.prepare.embeddings import train_embeddings

    options |= {name: value for name, value in flags.items() if value is not None}
    vectors, vocabulary = train_embeddings(train, out, **options)
    click.echo(f"embed_file: {vectors}\nvocab_file: {vocabulary}")
