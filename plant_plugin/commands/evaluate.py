"""``plant evaluate``: this package's metrics on the predictions of any program."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import click

FILE = click.Path(path_type=Path, dir_okay=False)


@click.command(context_settings={"max_content_width": 120})
@click.option("--truth", required=True, type=FILE, help="Test documents in LibMultiLabel's text format.")
@click.option("--scores", required=True, type=FILE, help="label:score lines, a sparse .npz or a dense .npy.")
@click.option("--train", type=FILE, help="Training documents, for propensities and frequency bins.")
@click.option("--label-file", type=FILE, help="The label set, one a line; names the columns of .npz and .npy.")
@click.option("--out", type=FILE, help="result.json to write; what plant compare needs goes beside it.")
@click.option("--scores-are", "unit", type=click.Choice(["probability", "logit"]), help="Default: by their range.")
@click.option("--threshold", "given", multiple=True, metavar="NAME=VALUE", help="micro=0.31 or macro=0.2.")
@click.option("--propensity", type=(float, float), default=(0.55, 1.5), show_default=True, help="A and B.")
@click.option("--name", help="What to call the system; by default the name of the file of scores.")
@click.option("--dataset", help="What to call the data; by default the folder of the truth.")
@click.option("--seed", type=int, help="The system's seed, for plant compare.")
def evaluate(
    truth: Path,
    scores: Path,
    train: Path | None,
    label_file: Path | None,
    out: Path | None,
    unit: str | None,
    given: tuple[str, ...],
    propensity: tuple[float, float],
    name: str | None,
    dataset: str | None,
    seed: int | None,
) -> None:
    """Score predictions against the truth: one line of scores for each document, in the same order.

    Labels are those of --label-file, else all of truth, training and scores. Ties go to the label that sorts first.
    What the scores do not tell (MAP and the AUCs, when only some labels are scored) is left out and said.
    """
    import hashlib

    from plant_plugin.data.documents import Split, read_label_file
    from plant_plugin.data.text import read_libmultilabel_text
    from plant_plugin.errors import DataError
    from plant_plugin.report.predictions import evaluate_predictions, label_set, read_scores, score_matrix, truth_matrix
    from plant_plugin.report.result import label_counts, labels_outside, save_result
    from plant_plugin.report.tables import print_results

    thresholds = _thresholds(given)
    if out:
        _check_out(out, [path for path in (truth, scores, train, label_file) if path])
    tested = read_libmultilabel_text(truth)
    trained = read_libmultilabel_text(train, keep_texts=False).labels if train else []
    read, named = read_scores(scores)
    columns = read_label_file(label_file) if label_file else None
    if columns == []:
        raise DataError("the label file holds no label", where=str(label_file), fix="one label a line")
    labels = label_set(tested.labels, trained, named or []) if columns is None else sorted(columns)
    pairs, dropped = truth_matrix(tested.labels, labels)
    matrix, dropped_scores = score_matrix(
        read, (columns or labels) if named is None else named, labels, where=str(scores)
    )
    found, documents = evaluate_predictions(
        matrix,
        pairs,
        labels,
        train_counts=label_counts(trained, labels) if train else None,
        num_train=len(trained) if train else None,
        unit=unit,
        thresholds=thresholds,
        propensity=propensity,
        outside=labels_outside(tested.labels, labels),
        where=str(scores),
    )
    if dropped_scores:
        found["notes"].append(f"{dropped_scores:,} scores are of labels outside the label set and were left out")
    hashes = {"labels": hashlib.sha256("\n".join(labels).encode()).hexdigest()}
    hashes["test"] = Split("test", tested.texts, tested.labels, None, tested.counts).hash()
    result = {
        "dataset": dataset or truth.resolve().parent.name,
        "model": name or scores.stem,
        **({} if seed is None else {"seed": seed}),
        "split": "test",
        **found,
        "hashes": hashes,
    }
    result["counts"]["dropped_labels"] = dropped
    print_results(result)
    for note in found["notes"]:
        click.echo(f"Note: {note}.", err=True)
    if out:
        save_result(out, result, documents)


def _thresholds(given: tuple[str, ...]) -> dict[str, float]:
    from plant_plugin.errors import ConfigError

    found = {}
    for text in given:
        name, _, value = text.partition("=")
        if name in found:
            raise ConfigError(f"{name} is given twice", where="--threshold", fix=f"leave one of the two {name}=VALUE")
        try:
            found[name] = float(value)
        except ValueError:
            found[name] = math.nan
        if name not in ("micro", "macro") or not math.isfinite(found[name]):
            raise ConfigError(
                f"{text!r} is no threshold",
                where="--threshold",
                fix="write micro=VALUE or macro=VALUE, a finite number in the unit of the scores, e.g. micro=0.31",
            )
    return found


def _check_out(out: Path, read: Sequence[Path]) -> None:
    """Nothing that is read may be written over: a result brings a .npz of its name along."""
    from plant_plugin.errors import ConfigError
    from plant_plugin.report.result import per_document_path

    if out.suffix != ".json":
        raise ConfigError(f"{out.name} does not end in .json", where="--out", fix="write e.g. result.json")
    beside = per_document_path(out)
    for path in read:
        if path.resolve() in (out.resolve(), beside.resolve()):
            raise ConfigError(
                f"{path.name} is read, and {out.name} would write over it: {beside.name} goes beside {out.name}",
                where="--out",
                fix="choose another name or folder",
            )
