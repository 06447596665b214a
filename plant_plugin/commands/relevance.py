"""``plant relevance``: the tokens that carry most information about a label."""

from __future__ import annotations

from pathlib import Path

import click

from plant_plugin.commands.flags import ConfigCommand, overrides_from
from plant_plugin.commands.shared import COUNT, FILE
from plant_plugin.errors import ConfigError, DataError, suggestion
from plant_plugin.evaluation.said import counted


@click.command(cls=ConfigCommand)
@click.argument("config")
@click.option("--label", help="The label as the data files write it.")
@click.option("--top", default=20, show_default=True, type=COUNT, help="Tokens to show.")
@click.option("--out", type=FILE, help="Write the relevance of all labels to this .npz file.")
def relevance(
    config: str,
    label: str | None,
    top: int,
    out: Path | None,
    **flags: object,
) -> None:
    """Print the tokens of CONFIG's training split that carry the most information about a label.

    MIG is the mutual information of "has the label" and "holds the token", in nats; relevance is what stage 1 ranks
    by, after the configuration's measure and normalisation.
    """
    import numpy as np

    from plant_plugin.config import load_config
    from plant_plugin.data.documents import label_hash, load_corpus
    from plant_plugin.data.tokens import build_tokens, encode_cached
    from plant_plugin.relevance.counts import mutual_information
    from plant_plugin.relevance.mutual_information import compute_relevance

    if (label is None) == (out is None):
        raise ConfigError("give exactly one of them", where="--label, --out")
    settings = load_config(config, overrides_from(flags))
    corpus = load_corpus(settings)
    if label is not None and label not in corpus.label_names:
        near = suggestion(label, corpus.label_names[:10_000])
        fix = near if near.startswith("did you mean") else "take a label of the training file"
        raise DataError(f"no training document has the label {label!r}", where="--label", fix=fix)
    labels, tokens = corpus.label_matrix(corpus.train), build_tokens(settings, corpus.train)
    arrays = encode_cached(tokens, corpus.train, settings.max_seq_length, settings.cache_dir)
    if out is not None:
        of_all = compute_relevance(arrays, labels, tokens.size, tokens.special_ids, settings.relevance)
        of_all.save(out, labels=label_hash(corpus.label_names), vocabulary=tokens.hash(), train=corpus.train.hash())
        rows, entries = of_all.matrix.shape[0], of_all.matrix.nnz
        click.echo(f"{out}: {counted(entries, 'token type')} of {counted(rows, 'label')}")
        return
    has = labels[:, [corpus.label_names.index(str(label))]]
    row = compute_relevance(arrays, has, tokens.size, tokens.special_ids, settings.relevance).matrix
    best = sorted(zip(row.data.tolist(), row.indices.tolist(), strict=True), key=lambda pair: (-pair[0], pair[1]))[:top]
    has_label = set(has.nonzero()[0].tolist())
    click.echo(f"{label}: {len(has_label):,} of {counted(len(arrays), 'training document')}")
    click.echo(f"{'token':<24} {'MIG (nats)':>10} {'relevance':>9} {'documents':>9} {'with label':>10}")
    for value, token in best:
        documents = set((np.searchsorted(arrays.offsets, np.flatnonzero(arrays.ids == token), "right") - 1).tolist())
        holding, both = len(documents), len(documents & has_label)
        information = mutual_information(both, len(has_label), holding, len(arrays))
        click.echo(f"{tokens.token(token):<24} {information:>10.5f} {value:>9.4f} {holding:>9,} {both:>10,}")
