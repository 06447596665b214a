"""``plant explain``: why a model predicts a label."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING

import click

from plant_plugin.commands import shared
from plant_plugin.commands.label import label as label  # where its users look for it
from plant_plugin.commands.new_documents import reads_documents
from plant_plugin.commands.printing import console
from plant_plugin.errors import DataError

if TYPE_CHECKING:
    from plant_plugin.data.tables import Table
    from plant_plugin.model.predictor import Predictor


@click.command()
@click.argument("model", metavar="[NAME=]MODEL")
@reads_documents()
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

    FILE (or - for standard input) is read as by plant predict: a text file has a document on each line, and --input
    text takes the whole of it as one. Of several --document chooses one. Contributions are exact: those of the words,
    the label's own and the planted scores' sum to the logit. The output holds the document's text: treat it as you
    treat the document.
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
        fix = f"choose one with --document ID, or take a text file as one document with --input text; {fix}"
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
