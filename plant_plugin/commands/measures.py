"""``plant faithfulness`` and ``plausibility``: how good explanations are, by the model and by coders."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import click

from plant_plugin.commands import shared
from plant_plugin.commands.new_documents import reads_documents
from plant_plugin.commands.reading import Flags, marked_documents, reads_files, run_columns
from plant_plugin.errors import ConfigError
from plant_plugin.evaluation.said import counted

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from plant_plugin.data.tables import Table
    from plant_plugin.model.plausibility import MarkedPairs, Plausibility
    from plant_plugin.model.predictor import Predictor


@click.command()
@click.argument("model", type=shared.MODEL)
@reads_documents(several=True)
@click.option("--documents", "most", default=100, show_default=True, type=shared.COUNT, help="The first so many.")
@click.option("--seed", default=0, show_default=True, type=click.IntRange(min=0), help="Of the random orders.")
@shared.json_option
@shared.loads_models()
def faithfulness(model: Path, documents: Table, most: int, seed: int, as_json: bool, load: shared.Load) -> None:
    """Take the strongest words out of the documents of FILE, or leave only them in, and ask MODEL again.

    Comprehensiveness is the probability that a predicted label loses without them (higher is better), sufficiency what
    it loses with only them (lower is better); means over 1, 5, 10, 20 and 50 % of the words. A measure that beats
    random and MIG says where the prediction comes from. Each document is scored some hundred times.
    """
    from plant_plugin.model.faithfulness import faithfulness as measured

    predictor = load(model)
    orders = measured(predictor, (document.text for document in islice(documents, most)), seed=seed)
    if as_json:
        click.echo(shared.as_json(orders))
        return
    click.echo(f"{'words ordered by':<18}{'comprehensiveness':>20}{'sufficiency':>20}")
    for each in orders:
        without = f"{each.comprehensiveness:.3f} ± {each.comprehensiveness_error:.3f}"
        only = f"{each.sufficiency:.3f} ± {each.sufficiency_error:.3f}"
        click.echo(f"{each.order:<18}{without:>20}{only:>20}")
    click.echo(
        f"means over {counted(orders[0].documents, 'document')} with a predicted label, ± standard error", err=True
    )


@click.command()
@click.argument("model", type=shared.MODEL)
@click.argument("evidence", type=shared.FILE, required=False)
@click.option(
    "--validation", type=shared.FILE, help="Evidence that chooses thresholds; default: of the run's val_file."
)
@click.option("--training-file", type=shared.FILE, help="Count labels here; default: as the run counted them.")
@click.option(
    "--seed", default=0, show_default=True, type=click.IntRange(min=0), help="Of the random order and the bootstrap."
)
@click.option("--out", type=shared.FILE, help="Write all numbers as JSON.")
@click.option(
    "--write-threshold", is_flag=True, help="Keep what validation chose in MODEL, for plant explain and serve."
)
@reads_files
@shared.loads_models(names=False)
def plausibility(
    model: Path,
    evidence: Path | None,
    validation: Path | None,
    training_file: Path | None,
    seed: int,
    out: Path | None,
    write_threshold: bool,
    flags: Flags,
    load: shared.Load,
) -> None:
    """Compare the words that explanations of MODEL name with those that coders marked in EVIDENCE.

    EVIDENCE (document TAB label TAB start-end;start-end) is by default that of the run's test file. Every pair of
    document and label with evidence counts once; words at or above a share of the strongest word are named, and the
    share is chosen on validation documents, for each order of the words. [95 % intervals over documents.]
    """
    from plant_plugin.data.evidence import read_evidence
    from plant_plugin.model.passages import write_rule
    from plant_plugin.model.plausibility import chosen_rule, marked_pairs
    from plant_plugin.model.plausibility import plausibility as measured
    from plant_plugin.model.trained import with_unrefitted

    if write_threshold and model.is_file():
        fix = "name the run's folder, or leave --write-threshold out"
        raise ConfigError("one file is not written into", where=str(model), fix=fix)
    files = (
        marked_documents(model, "val", validation, out, flags),
        marked_documents(model, "test", evidence, out, flags),
    )
    chooses, tested = ((documents.texts, read_evidence(path, documents)) for documents, path in files)
    predictor, unrefitted = with_unrefitted(load, model)
    pairs = marked_pairs(predictor, *tested, seed=seed)
    chosen = marked_pairs(unrefitted, *chooses, seed=seed)
    orders = measured([(pairs, chosen)], _train_counts(predictor, training_file, flags), seed=seed)
    _show(orders, pairs)
    if out is not None:
        shared.write(out, shared.as_json(_content(orders, pairs)))
    if write_threshold:
        click.echo(f"written: {write_rule(model, chosen_rule(chosen))}", err=True)


def _train_counts(predictor: Predictor, training_file: Path | None, flags: Flags) -> npt.NDArray[np.int64] | None:
    """Count training documents of each label, from a file or the run's folder; None where neither says."""
    import numpy as np

    from plant_plugin.data.tables import read_columns
    from plant_plugin.report.label_statistics import read_train_counts
    from plant_plugin.report.result import label_counts

    if training_file is None:
        counts = read_train_counts(predictor.folder, predictor.labels[: predictor.num_trained])
        return counts if counts is None else np.pad(counts, (0, len(predictor.labels) - len(counts)))
    columns = run_columns(predictor.folder, flags)
    return label_counts(read_columns(training_file, columns, keep_texts=False).labels, predictor.labels)


def _show(orders: list[Plausibility], pairs: MarkedPairs) -> None:
    """Print a line for each order, in percent with intervals; then for each bin of labels, without."""
    heads = "".join(f"{name:>21}" for name in orders[0].measures)
    click.echo(f"{'words ordered by':<26}{'share':>6}{heads}")
    for each in orders:
        cells = (f"{mean:.1%} [{low:.1%} {high:.1%}]".replace("%", "") for mean, low, high in each.measures.values())
        click.echo(f"{each.order:<26}{each.shares[0]:>6.2f}" + "".join(f"{cell:>21}" for cell in cells))
    for name in orders[0].bins:
        heads = "".join(f"{measure:>10}" for measure in orders[0].measures)
        click.echo(f"\n{f'{name} training documents':<32}{heads}")
        for each in orders:
            click.echo(f"{each.order:<32}" + "".join(f"{100 * mean:>10.1f}" for mean, _, _ in each.bins[name].values()))
    documents = len(set(pairs.documents))
    left = f"; left out: {pairs.unknown:,} of labels that the model does not know, {pairs.wordless:,} without a word"
    click.echo(
        f"in %, means over {counted(len(pairs), 'pair')} of {counted(documents, 'document')}, [95 % interval]{left}",
        err=True,
    )


def _content(orders: list[Plausibility], pairs: MarkedPairs) -> dict[str, object]:
    return {
        "pairs": len(pairs),
        "documents": len(set(pairs.documents)),
        "pairs_of_unknown_labels": pairs.unknown,
        "pairs_without_a_word": pairs.wordless,
        "orders": orders,
    }
