"""``plant explain``: why a model predicts a label."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from plant_plugin.commands.shared import (
    COUNT,
    FILE,
    as_json,
    json_option,
    load_predictor,
    model_options,
    reads_documents,
    threshold_option,
    write,
)
from plant_plugin.errors import DataError

if TYPE_CHECKING:
    from plant_plugin.data.new_documents import Documents
    from plant_plugin.model.predictor import Predictor


@click.command()
@click.argument("model", metavar="[NAME=]MODEL")
@reads_documents("text", "What FILE is; text: one document.")
@click.option("--beside", metavar="[NAME=]MODEL", multiple=True, help="Another run folder, to stand side by side.")
@click.option("--document", metavar="ID", help="Of a FILE of several documents, the one with this id or number.")
@click.option("--label", "labels", multiple=True, help="Explain this label; may be repeated. Default: the predicted.")
@threshold_option()
@click.option("--top", type=COUNT, help="Explain the best so many labels.")
@click.option("--html", type=FILE, help="Write one page that needs no network.")
@json_option
@click.option("--faithfulness", is_flag=True, help="Also what is lost without the strongest words (html and json).")
@model_options
def explain(
    model: str,
    documents: Documents,
    beside: tuple[str, ...],
    document: str | None,
    labels: tuple[str, ...],
    threshold: float | str | None,
    top: int | None,
    html: Path | None,
    shows_json: bool,
    faithfulness: bool,
    device: str | None,
    names: tuple[str, ...],
) -> None:
    """Show what the run folder MODEL sees in a document: for each predicted label, the words that speak for it.

    FILE (or - for standard input) is one document; with --input lines, libmultilabel, jsonl or csv, --document chooses
    one. Contributions are exact: those of the words, the label's own and the planted scores' sum to the logit. The
    output holds the document's text: treat it as you treat the document.
    """
    from plant_plugin.model.formats import as_dictionary, print_explanation

    text = _text(documents, document)
    predictors = [_predictor(source, device, names) for source in (model, *beside)]
    explanations = [predictor.explain(text, labels or None, threshold=threshold, top=top) for predictor in predictors]
    if beside and not labels:  # what one model predicts is shown as the others see it, too
        chosen = dict.fromkeys(evidence.found.label for one in explanations for evidence in one.labels)
        known = [[label for label in chosen if label in predictor.column_of] for predictor in predictors]
        explanations = [
            predictor.explain(text, own or None, threshold=threshold)
            for predictor, own in zip(predictors, known, strict=True)
        ]
    if faithfulness:
        from plant_plugin.model.faithfulness import with_faithfulness

        explanations = [with_faithfulness(*pair) for pair in zip(predictors, explanations, strict=True)]
    if html is not None:
        from plant_plugin.model.page import page

        write(html, page(explanations))
    if shows_json:
        content = [as_dictionary(explanation) for explanation in explanations]
        click.echo(as_json(content if beside else content[0]))
    elif html is None:
        from rich.console import Console

        for explanation in explanations:
            print_explanation(explanation, Console(file=sys.stdout))


def _text(documents: Documents, wanted: str | None) -> str:
    """The document asked for; the only one, where none is asked for."""
    found, fix = None, "ids are those of the file, else numbers from 1"
    for document in documents:
        if wanted is not None:
            if document.id == wanted:
                return document.text
        elif found is not None:
            what = "more than one document"
            raise DataError(what, where=documents.source, fix=f"choose one with --document ID; {fix}")
        else:
            found = document.text
    if found is None:
        what = "no document is here" if wanted is None else "no document has this id"
        raise DataError(what, where=documents.source, fix=fix)
    return found


def _predictor(source: str, device: str | None, names: tuple[str, ...]) -> Predictor:
    """A model folder, or NAME=folder."""
    name, equals, path = source.partition("=")
    folder = Path(path if equals and not Path(source).exists() else source)
    predictor = load_predictor(folder, device, names)
    if folder == Path(path) and equals:
        predictor.name = name
    return predictor
