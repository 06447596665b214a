"""``plant explain``: why a model predicts a label."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from plant_plugin.commands.predict import FORMS, model_options, threshold_value

if TYPE_CHECKING:
    from plant_plugin.model.predictor import Predictor


@click.command(context_settings={"max_content_width": 120})
@click.argument("model", metavar="[NAME=]MODEL")
@click.argument("file", default="-")
@click.option("--beside", metavar="[NAME=]MODEL", multiple=True, help="Another run folder, to stand side by side.")
@click.option("--input", "form", type=click.Choice(FORMS), default="text", show_default=True,
              help="What FILE is; text: one document.")  # fmt: skip
@click.option("--document", metavar="ID", help="Of a FILE of several documents, the one with this id or number.")
@click.option("--label", "labels", multiple=True, help="Explain this label; may be repeated. Default: the predicted.")
@click.option("--threshold", callback=threshold_value, metavar="micro|macro|P", help="As for plant predict.")
@click.option("--top", type=click.IntRange(min=1), help="Explain the best so many labels.")
@click.option("--html", type=click.Path(path_type=Path, dir_okay=False), help="Write one page that needs no network.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
@click.option("--faithfulness", is_flag=True, help="Also what is lost without the strongest words (html and json).")
@click.option("--text-field", default="text", show_default=True, help="Key or column of the text.")
@click.option("--id-field", default="id", show_default=True, help="Key or column of the id.")
@click.option("--skip-bad", is_flag=True, help="Pass over lines that are no document.")
@model_options
def explain(
    model: str,
    file: str,
    beside: tuple[str, ...],
    form: str,
    document: str | None,
    labels: tuple[str, ...],
    threshold: float | str | None,
    top: int | None,
    html: Path | None,
    as_json: bool,
    faithfulness: bool,
    text_field: str,
    id_field: str,
    skip_bad: bool,
    device: str | None,
    names: tuple[str, ...],
) -> None:
    """Show what the run folder MODEL sees in a document: for each predicted label, the words that speak for it.

    FILE (or - for standard input) is one document; with --input lines, libmultilabel, jsonl or csv, --document chooses
    one. Contributions are exact: those of the words, the label's own and the planted scores' sum to the logit. The
    output holds the document's text: treat it as you treat the document.
    """
    from plant_plugin.data.new_documents import Documents, Fields

    documents = Documents(file, form, fields=Fields(text_field, id_field), skip_bad=skip_bad)
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
        from plant_plugin.files import atomic_write
        from plant_plugin.model.page import page

        with atomic_write(html) as temporary:
            temporary.write_text(page(explanations), encoding="utf-8")
        click.echo(f"written: {html}", err=True)
    if as_json:
        import json

        from plant_plugin.model.formats import as_dictionary

        content = [as_dictionary(explanation) for explanation in explanations]
        click.echo(json.dumps(content if beside else content[0], ensure_ascii=False, indent=1))
    elif html is None:
        from rich.console import Console

        from plant_plugin.model.formats import print_explanation

        for explanation in explanations:
            print_explanation(explanation, Console(file=sys.stdout))


def _text(documents: Any, wanted: str | None) -> str:
    """The document asked for; the only one, where none is asked for.

    Raises:
        DataError: There is none, or more than one to choose from.
    """
    from plant_plugin.errors import DataError

    found = None
    for document in documents:
        if wanted is not None:
            if document.id == wanted:
                return str(document.text)
        elif found is not None:
            fix = "choose one with --document ID; ids are those of the file, else numbers from 1"
            raise DataError("more than one document", where=documents.source, fix=fix)
        else:
            found = document.text
    if found is None:
        what = "no document is here" if wanted is None else "no document has this id"
        raise DataError(what, where=documents.source, fix="ids are those of the file, else numbers from 1")
    return str(found)


def _predictor(source: str, device: str | None, names: tuple[str, ...]) -> Predictor:
    """A model folder, or NAME=folder."""
    from plant_plugin.data.label_names import label_names
    from plant_plugin.model.predictor import Predictor

    name, equals, path = source.partition("=")
    folder = Path(path if equals and not Path(source).exists() else source)
    predictor = Predictor.load(folder, device=device, names=label_names(names, folder))
    if folder == Path(path) and equals:
        predictor.name = name
    return predictor
