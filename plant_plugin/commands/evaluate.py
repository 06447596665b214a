"""``plant evaluate`` and ``plant compare``: metrics of any program's predictions, and results side by side."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from plant_plugin.commands.near_misses import measured, near_misses_option, print_near_misses
from plant_plugin.commands.reading import Flags, columns_of, reads_files
from plant_plugin.commands.shared import COUNT, FILE, keep, registry_option
from plant_plugin.config.sections import OPTIONS
from plant_plugin.errors import ConfigError, MissingExtraError
from plant_plugin.files import write_text

if TYPE_CHECKING:
    from plant_plugin.evaluation.per_document import PerDocument
    from plant_plugin.report.result import Result

PROPENSITY = (OPTIONS["propensity_a"].default, OPTIONS["propensity_b"].default)
ENDINGS = (".md", ".json", ".html", ".csv", ".tex")


@click.command()
@click.option("--truth", required=True, type=FILE, help="Test documents in LibMultiLabel's text format.")
@click.option(
    "--scores", required=True, type=FILE, help="label:score lines, Omikuji's, a sparse .npz (PECOS') or a dense .npy."
)
@click.option("--train", type=FILE, help="Training documents, for propensities and frequency bins.")
@click.option("--label-file", type=FILE, help="The label set, one a line; names the columns of .npz and .npy.")
@click.option("--scores-by", type=click.Choice(["name", "number"]),
              help="What labels of lines are; by default numbers from 0 where none of them is a label.")  # fmt: skip
@click.option("--test-filter", type=FILE, help="Lines of document TAB label: pairs that count neither way.")
@click.option("--out", type=FILE, help="result.json to write; what plant compare needs goes beside it.")
@click.option("--scores-are", "unit", type=click.Choice(["probability", "logit"]), help="Default: by their range.")
@click.option("--threshold", "threshold_texts", multiple=True, metavar="NAME=VALUE", help="micro=0.31 or macro=0.2.")
@click.option("--propensity", type=(float, float), default=PROPENSITY, show_default=True, help="A and B.")
@click.option("--name", help="What to call the system; by default the name of the file of scores.")
@click.option("--dataset", help="What to call the data; by default the folder of the truth.")
@click.option("--seed", type=int, help="The system's seed, for plant compare.")
@near_misses_option
@reads_files
@registry_option
def evaluate(
    truth: Path,
    scores: Path,
    train: Path | None,
    label_file: Path | None,
    scores_by: str | None,
    test_filter: Path | None,
    out: Path | None,
    unit: str | None,
    threshold_texts: tuple[str, ...],
    propensity: tuple[float, float],
    name: str | None,
    dataset: str | None,
    seed: int | None,
    near_misses: str | None,
    flags: Flags,
) -> None:
    """Score predictions against the truth: one line of scores for each document, in the same order.

    Labels are those of --label-file, else all of truth, training and scores. Ties go to the label that sorts first.
    Metrics that the scores do not give (MAP and the AUCs, when only some labels are scored) are left out and said.
    """
    from plant_plugin.data.documents import Corpus, Split, label_hash
    from plant_plugin.data.tables import read_columns
    from plant_plugin.data.text import Documents
    from plant_plugin.report.predictions import evaluate_predictions, read_scores, score_matrix
    from plant_plugin.report.result import filter_hash, filtered_pairs, label_counts, labels_outside
    from plant_plugin.report.score_lines import label_columns, labels_of_scores

    thresholds = _thresholds(threshold_texts)
    if out:
        _check_out(out, filter(None, (truth, scores, train, label_file, test_filter)))
    read, named = read_scores(scores)
    columns = label_columns(label_file) if label_file else None
    reading = columns_of(flags, labels=columns or ())
    trained = read_columns(train, reading, keep_texts=False) if train else Documents()
    tested = read_columns(truth, reading._replace(after=trained.trained.knowing(columns)))
    every = {label for documents in (tested, trained) for names in documents.labels for label in names}
    of_columns, labels, note = labels_of_scores(read.shape[1], named, columns, every, scores_by, where=str(scores))
    test = Split(tested.texts, tested.labels, name="test")
    corpus = Corpus(Split(trained.texts, trained.labels, name="train"), None, test, labels)
    matrix, dropped_scores = score_matrix(read, of_columns, labels, where=str(scores))
    true = corpus.label_matrix(test)
    removed = None if test_filter is None else filtered_pairs(test_filter, labels, len(tested.labels))
    metrics, documents = evaluate_predictions(
        matrix,
        true,
        labels,
        train_counts=label_counts(trained.labels, labels) if train else None,
        num_train=len(trained.labels) if train else None,
        unit=unit,
        thresholds=thresholds,
        propensity=propensity,
        outside=labels_outside(tested.labels, labels),
        removed=removed,
        where=str(scores),
    )
    dropped = (
        f"{dropped_scores:,} scores are of labels outside the label set and were left out" if dropped_scores else ""
    )
    metrics["notes"].extend(filter(None, (note, dropped)))
    seeded: Result = {} if seed is None else {"seed": seed}
    result: Result = {
        "dataset": dataset or truth.resolve().parent.name,
        "model": name or scores.stem,
        **seeded,
        "split": "test",
        **metrics,
        "hashes": {"labels": label_hash(corpus.label_names), "test": test.hash(), **filter_hash(test_filter)},
    }
    result["counts"]["dropped_labels"] = corpus.counts["dropped_labels"]
    if near_misses is not None:
        result["near_misses"] = measured(near_misses, matrix, true, labels, metrics["thresholds"], removed)
    _tell(result, documents, out)


def _tell(result: Result, documents: PerDocument, out: Path | None) -> None:
    from plant_plugin.report.result import save_result
    from plant_plugin.report.tables import print_results

    print_results(result)
    if "near_misses" in result:
        print_near_misses(result["near_misses"])
    for note in result["notes"]:
        click.echo(f"Note: {note}.", err=True)
    if out:
        save_result(out, result, documents)


def _thresholds(texts: tuple[str, ...]) -> dict[str, float]:
    thresholds: dict[str, float] = {}
    for text in texts:
        name, _, value = text.partition("=")
        if name in thresholds:
            raise ConfigError(f"{name} is given twice", where="--threshold", fix=f"leave one of the two {name}=VALUE")
        with contextlib.suppress(ValueError):
            thresholds[name] = float(value)
        if name not in ("micro", "macro") or not math.isfinite(thresholds.get(name, math.nan)):
            fix = "write micro=VALUE or macro=VALUE, a finite number in the unit of the scores, e.g. micro=0.31"
            raise ConfigError(f"{text!r} is no threshold", where="--threshold", fix=fix)
    return thresholds


def _check_out(out: Path, read: Iterable[Path]) -> None:
    from plant_plugin.report.result import per_document_path

    if out.suffix != ".json":
        raise ConfigError(f"{out.name} does not end in .json", where="--out", fix="write e.g. result.json")
    keep(read, out, per_document_path(out))


@click.command()
@click.argument("results", nargs=-1, required=True, metavar="RESULT...")
@click.option("--baseline", required=True, metavar="NAME", help="The system that the others are tested against.")
@click.option("--metric", "metrics", multiple=True, metavar="NAME", help="E.g. Micro-F1@micro; may be repeated.")
@click.option("--columns", type=click.Choice(["icd", "xmc"]),
              help="The metrics that papers print on coding (icd) or extreme classification (xmc).")  # fmt: skip
@click.option("--published", "benchmark", metavar="BENCHMARK", help="Add what papers report of it, e.g. mimic3_full.")
@click.option("--pair", "pairs", type=(str, str), multiple=True, metavar="NAME NAME",
              help="Test what the first gains over the second, on average over all pairs.")  # fmt: skip
@click.option("--out", "outs", multiple=True, type=FILE,
              help=f"A file ending in {', '.join(ENDINGS)}; may be repeated.")  # fmt: skip
@click.option("--resamples", default=1000, show_default=True, type=COUNT, help="Of the documents.")
@registry_option
def compare(
    results: tuple[str, ...],
    baseline: str,
    metrics: tuple[str, ...],
    columns: str | None,
    benchmark: str | None,
    pairs: tuple[tuple[str, str], ...],
    outs: tuple[Path, ...],
    resamples: int,
) -> None:
    """Compare RESULTs: files or run folders; NAME=PATH names a system, and those of one name are its seeds.

    Of run folders, as in runs/mimic3_50_*, the newest finished one of each name and seed is taken.

    Tests need what `libmultilabel` and `plant evaluate` write beside result.json: per_document.npz. Without it there
    are means and deviations only. Prints Markdown unless --out is given.

    Published numbers were not run again: they are not tested, and the lines below the table say where they are from
    and how their protocol differs.
    """
    from plant_plugin.report.compare import FIELDS
    from plant_plugin.report.compare_runs import compare as compare_runs
    from plant_plugin.report.formats import FORMATS, markdown, page
    from plant_plugin.report.pictures import svg_of_comparison
    from plant_plugin.report.published import published

    for out in outs:
        if out.suffix not in FORMATS:
            fix = f"choose one of {', '.join(FORMATS)}"
            raise ConfigError(f"{out.name} has no ending of a table", where="--out", fix=fix)
    for result in results:
        path = Path(result if Path(result).exists() else result.rpartition("=")[2])
        keep((path, path / "result.json"), *outs)
    papers = published(benchmark) if benchmark else None
    table = compare_runs(
        results,
        baseline,
        metrics=metrics or None,
        columns=FIELDS[columns] if columns else None,
        published=papers,
        pairs=pairs,
        resamples=resamples,
        say=partial(click.echo, err=True),
    )
    if not outs:
        click.echo(markdown(table), nl=False)
    for out in outs:
        text = FORMATS[out.suffix](table)
        if out.suffix == ".html":
            try:
                text = page(table, svg_of_comparison(table))
            except MissingExtraError as error:
                click.echo(f"Note: the page has no pictures: {error.format_message()}", err=True)
        write_text(out, text)
