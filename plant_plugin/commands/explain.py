"""``plant explain`` and ``plant label``: why a model predicts a label, and what it knows of one."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING

import click

from plant_plugin.commands import shared
from plant_plugin.commands.new_documents import reads_documents
from plant_plugin.commands.printing import console
from plant_plugin.errors import DataError

if TYPE_CHECKING:
    from plant_plugin.data.tables import Table
    from plant_plugin.model.predictor import Predictor


@click.command()
@click.argument("model", metavar="[NAME=]MODEL")
@reads_documents("text", "What FILE is; text: one document.")
@click.option("--beside", metavar="[NAME=]MODEL", multiple=True, help="Another run folder, shown side by side.")
@click.option("--document", metavar="ID", help="Of a FILE of several documents, the one with this id or number.")
@click.option("--label", "labels", multiple=True, help="Explain this label; may be repeated. Default: the predicted.")
@shared.threshold_option()
@click.option("--top", type=shared.COUNT, help="Explain the best so many labels.")
@click.option("--html", type=shared.FILE, help="Write one page that needs no network.")
@shared.json_option
@click.option("--faithfulness", is_flag=True, help="Also what is lost without the strongest words (html and json).")
@shared.loads_models()
def explain(
    model: str,
    documents: Table,
    beside: tuple[str, ...],
    document: str | None,
    labels: tuple[str, ...],
    threshold: float | str | None,
    top: int | None,
    html: Path | None,
    as_json: bool,
    faithfulness: bool,
    load: shared.Load,
) -> None:
    """Show what the run folder MODEL sees in a document: for each predicted label, the words that speak for it.

    FILE (or - for standard input) is one document; with --input lines, libmultilabel, jsonl or csv, --document chooses
    one. Contributions are exact: those of the words, the label's own and the planted scores' sum to the logit. The
    output holds the document's text: treat it as you treat the document.
    """
    from plant_plugin.model.formats import as_dictionary
    from plant_plugin.model.printed import print_explanation

    shared.keep((documents.source, model, *beside), html)
    text = _text(documents, document)
    predictors = [_predictor(source, load) for source in (model, *beside)]
    explanations = [predictor.explain(text, labels or None, threshold=threshold, top=top) for predictor in predictors]
    if beside and not labels:  # what one model predicts is shown as the others see it, too
        chosen = dict.fromkeys(label.scored.label for each in explanations for label in each.labels)
        known = [[label for label in chosen if label in predictor.column_of] for predictor in predictors]
        explanations = [
            predictor.explain(text, known_labels or None, threshold=threshold)
            for predictor, known_labels in zip(predictors, known, strict=True)
        ]
    if faithfulness:
        from plant_plugin.model.faithfulness import with_faithfulness

        explanations = [with_faithfulness(*pair) for pair in zip(predictors, explanations, strict=True)]
    if html is not None:
        from plant_plugin.model.page import page

        shared.write(html, page(explanations))
    if as_json:
        content = [as_dictionary(explanation) for explanation in explanations]
        click.echo(shared.as_json(content if beside else content[0]))
    elif html is None:
        for explanation in explanations:
            print_explanation(explanation, console())


def _text(documents: Table, wanted: str | None) -> str:
    """Return the text of a document; that of the only one, where no id is wanted."""
    fix = "ids are those of the file, else numbers from 1"
    if wanted is not None and documents.form == "text":
        fix = "all of it was read as one text: say with --input what it is"
    texts = list(itertools.islice((each.text for each in documents if wanted in (None, each.name)), 2))
    if not texts:
        what = "no document is here" if wanted is None else "no document has this id"
        raise DataError(what, where=documents.name, fix=fix)
    if len(texts) > 1 and wanted is None:
        fix = f"choose one with --document ID; {fix}"
        raise DataError("more than one document", where=documents.name, fix=fix)
    if len(texts) > 1:
        fix = "give each an id of its own, or name the key that differs with --id_column"
        raise DataError("more than one document has this id", where=documents.name, fix=fix)
    return texts[0]


def _predictor(source: str, load: shared.Load) -> Predictor:
    """Load a model folder, or NAME=folder."""
    name, equals, folder = source.partition("=")
    if not equals or Path(source).exists():
        return load(Path(source))
    predictor = load(Path(folder))
    predictor.name = name
    return predictor


@click.command()
@click.argument("model", type=shared.MODEL)
@click.argument("label")
@click.option("--top", default=15, show_default=True, type=shared.COUNT, help="Tokens and labels to show.")
@shared.json_option
@shared.loads_models()
def label(model: Path, label: str, top: int, as_json: bool, load: shared.Load) -> None:
    """Show what the run folder MODEL knows of LABEL.

    Its tokens by relevance (MIG) and by only the learned attention, its terms by the planted scores, the labels whose
    attention is alike, how many documents have it, and its F1 on validation and test documents.
    """
    from plant_plugin.model.label_profile import label_profile

    profile = label_profile(load(model), label, top)
    if as_json:
        click.echo(shared.as_json(profile))
        return
    click.echo(f"{profile.label} {profile.name or ''}".rstrip())
    if profile.statistics is not None:
        if profile.statistics.train_count is not None:
            of = f" of {profile.num_train:,}" if profile.num_train else ""
            click.echo(f"  in {profile.statistics.train_count:,}{of} training documents")
        click.echo(_reached("validation", profile.statistics.validation_count, profile.statistics.validation_f1))
    if profile.test_f1 is not None:
        click.echo(_reached("test", profile.test_count or 0, profile.test_f1))
    columns = {"by MIG": profile.relevant, "by learned attention": profile.attended, "by planted scores": profile.terms}
    shown = {heading: rows for heading, rows in columns.items() if rows}
    click.echo("\n" + "".join(f"{heading:<34}" for heading in shown).rstrip())
    for row in itertools.zip_longest(*shown.values()):
        cells = ["" if cell is None else f"{cell[0]:<23}{cell[1]:>7.3f}" for cell in row]
        click.echo("".join(f"  {cell:<32}" for cell in cells).rstrip())
    if profile.nearest:
        click.echo("\nlabels with the most similar attention")
        for other, name, cosine in profile.nearest:
            click.echo(f"  {cosine:>6.3f}  {other} {name or ''}".rstrip())


def _reached(split: str, count: int, f1: dict[str, float]) -> str:
    values = ", ".join(f"{value:.3f} at threshold {name}" for name, value in f1.items())
    return f"  in {count:,} {split} documents; F1 there: {values}"
