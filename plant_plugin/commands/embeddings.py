"""``plant embeddings``: word vectors for the baselines, trained on one's own text."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("train")
@click.option("--out", required=True, type=click.Path(path_type=Path, dir_okay=False), help="The file to write.")
@click.option("--dim", default=100, show_default=True, type=click.IntRange(min=1), help="Size of the vectors.")
@click.option(
    "--min_count", default=3, show_default=True, type=click.IntRange(min=1), help="Documents that must hold a word."
)
@click.option(
    "--epochs",
    type=click.IntRange(min=1),
    help="Passes over the text.  [default: until 10 million words are seen, 5 to 50]",
)
@click.option("--seed", default=1, show_default=True, type=click.IntRange(min=0), help="Seed of the training.")
@click.option("--allow_bad_lines", is_flag=True, help="Leave out lines that are not of the format.")
def embeddings(
    train: str, out: Path, dim: int, min_count: int, epochs: int | None, seed: int, allow_bad_lines: bool
) -> None:
    """Train word2vec on the training file TRAIN, as LibMultiLabel's embed_file and vocab_file."""
    from plant_plugin.prepare.embeddings import train_embeddings

    vectors, vocabulary = train_embeddings(train, out, dim, min_count, epochs, seed, allow_bad_lines=allow_bad_lines)
    click.echo(f"embed_file: {vectors}\nvocab_file: {vocabulary}")
