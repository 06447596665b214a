"""``plant relevance``: the tokens that tell most about a label."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from plant_plugin.commands.flags import ConfigCommand, overrides_from
from plant_plugin.commands.shared import COUNT, FILE, keep
from plant_plugin.errors import ConfigError, DataError, suggestion

if TYPE_CHECKING:
    from plant_plugin.relevance.site_counts import SiteCounts

_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def _bytes(context: click.Context, parameter: click.Parameter, value: str | None) -> int | None:
    """2GiB, 2G, 2GB or 500MiB as bytes; powers of 1024."""
    if value is None:
        return None
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:I?B)?", value.strip().upper())
    if found is None or float(found[1]) == 0:
        raise click.BadParameter("a number with KiB, MiB, GiB or TiB")
    return int(float(found[1]) * _UNITS[found[2]])


@click.command()
@click.argument("files", nargs=-1, required=True, type=FILE)
@click.option("--out", type=FILE, required=True, help="Write the sum to this .npz file.")
def merge(files: tuple[Path, ...], out: Path) -> None:
    """Add up the counts that sites wrote by `plant relevance CONFIG --counts`, for the key `relevance.counts`."""
    from plant_plugin.relevance.site_counts import SiteCounts, merged

    if len({file.resolve() for file in files}) < len(files):
        raise DataError("a file is given twice and would count twice", where="FILES", fix="give each site's file once")
    keep(files, out)
    found = merged([(file, SiteCounts.load(file)) for file in files])
    found.save(out)
    _say(found, out)


class _RelevanceCommand(ConfigCommand):
    """``merge`` in place of a configuration is the command that adds up counts."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: object
    ) -> click.Context:
        if args[:1] == ["merge"]:
            return merge.make_context(f"{info_name} merge", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)


@click.command(cls=_RelevanceCommand)
@click.argument("config")
@click.option("--label", help="The label as the data files write it.")
@click.option("--top", default=20, show_default=True, type=COUNT, help="Tokens to show.")
@click.option("--out", type=FILE, help="Write the relevance of all labels to this .npz file.")
@click.option("--memory", callback=_bytes, help="What --out may take besides the documents, e.g. 2GiB.")
@click.option("--counts", type=FILE, help="Write counts of documents to this .npz file, for `plant relevance merge`.")
@click.option("--min-count", default=5, show_default=True, type=COUNT,
              help="Labels, words and pairs of fewer documents are left out of --counts.")  # fmt: skip
def relevance(
    config: str,
    label: str | None,
    top: int,
    out: Path | None,
    memory: int | None,
    counts: Path | None,
    min_count: int,
    **flags: object,
) -> None:
    """Print the tokens of CONFIG's training split that carry the most information about a label.

    `plant relevance merge FILES... --out FILE` adds up what several sites counted by --counts.

    MIG is the mutual information of "has the label" and "holds the token", in nats; relevance is what stage 1 ranks
    by, after the configuration's measure and normalisation.
    """
    import numpy as np

    from plant_plugin.config import load_config
    from plant_plugin.data.documents import load_corpus
    from plant_plugin.data.tokens import build_tokens, encode_cached
    from plant_plugin.relevance import compute_relevance
    from plant_plugin.relevance.counts import mutual_information
    from plant_plugin.relevance.site_counts import SiteCounts

    if sum(asked is not None for asked in (label, out, counts)) != 1:
        raise ConfigError("give exactly one of them", where="--label, --out, --counts")
    settings = load_config(config, overrides_from(flags))
    if settings.relevance.counts is not None:
        fix = "leave it out: this command counts the training file; `plant relevance merge` adds counts up"
        raise ConfigError("counts of several sites are read in training alone", where="relevance.counts", fix=fix)
    corpus = load_corpus(settings)
    if label is not None and label not in corpus.label_names:
        near = suggestion(label, corpus.label_names[:10_000])
        fix = near if near.startswith("did you mean") else "take a label of the training file"
        raise DataError(f"no training document has the label {label!r}", where="--label", fix=fix)
    labels, tokens = corpus.label_matrix(corpus.train), build_tokens(settings, corpus.train)
    arrays = encode_cached(tokens, corpus.train, settings.max_seq_length, settings.cache_dir)
    if counts is not None:
        of_site = SiteCounts.of(arrays, labels, corpus.label_names, tokens, min_count)
        of_site.save(counts)
        _say(of_site, counts)
        return
    if out is not None:
        found = compute_relevance(
            arrays, labels, tokens.size, tokens.special_ids, settings.relevance, memory=memory, folder=out.parent
        )
        found.save(out, labels=corpus.label_hash(), vocabulary=tokens.hash(), train=corpus.train.hash())
        rows, entries = found.matrix.shape[0], found.matrix.nnz
        click.echo(f"{entries:,} token types of {rows:,} labels are in {out}")
        return
    has = labels[:, [corpus.label_names.index(str(label))]]
    row = compute_relevance(arrays, has, tokens.size, tokens.special_ids, settings.relevance).matrix
    best = sorted(zip(row.data.tolist(), row.indices.tolist(), strict=True), key=lambda pair: (-pair[0], pair[1]))[:top]
    has_label = set(has.nonzero()[0].tolist())
    click.echo(f"{label}: {len(has_label):,} of {len(arrays):,} training documents")
    click.echo(f"{'token':<24} {'MIG (nats)':>10} {'relevance':>9} {'documents':>9} {'with label':>10}")
    for value, token in best:
        documents = set((np.searchsorted(arrays.offsets, np.flatnonzero(arrays.ids == token), "right") - 1).tolist())
        holding, both = len(documents), len(documents & has_label)
        information = mutual_information(both, len(has_label), holding, len(arrays))
        click.echo(f"{tokens.token(token):<24} {information:>10.5f} {value:>9.4f} {holding:>9,} {both:>10,}")


def _say(found: SiteCounts, path: Path) -> None:
    """One line; no name."""
    told = f"{len(found.labels):,} labels, {len(found.types):,} words and {found.pairs.nnz:,} pairs"
    click.echo(f"{found.documents:,} documents: {told}, of {found.min_count} documents at least, are in {path}")
