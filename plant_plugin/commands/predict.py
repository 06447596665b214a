"""``plant predict``: a trained model on new documents."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from plant_plugin.data.new_documents import Document, Documents
    from plant_plugin.model.predictor import Prediction

FORMS = ("lines", "text", "libmultilabel", "jsonl", "csv")
OUTPUTS = ("jsonl", "csv", "scores")
FOLDER = click.Path(path_type=Path)


def model_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """What every command takes that loads a model."""
    for option in (
        click.option("--device", help="E.g. cpu or cuda:1; the first GPU where there is one."),
        click.option("--names", multiple=True, metavar="icd9|icd10|FILE",
                     help="What labels stand for; FILE: label TAB name. May be repeated."),
    ):  # fmt: skip
        command = option(command)
    return command


def threshold_value(context: click.Context, parameter: click.Parameter, value: str | None) -> float | str | None:
    """A probability as a number, a name as it is; ``0.5`` is both, and the same."""
    with contextlib.suppress(ValueError, TypeError):
        return float(value)  # type: ignore[arg-type]
    return value


@click.command(context_settings={"max_content_width": 120})
@click.argument("model", type=FOLDER)
@click.argument("file", default="-")
@click.option("--input", "form", type=click.Choice(FORMS), help="What FILE is; by its ending, else by its first line.")
@click.option("--output", "output", type=click.Choice(OUTPUTS), default="jsonl", show_default=True,
              help="scores: label:logit, as in predictions.txt.")  # fmt: skip
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Write to this file.")
@click.option("--threshold", callback=threshold_value, metavar="micro|macro|P",
              help="Labels above it; default: micro, tuned on validation, else 0.5.")  # fmt: skip
@click.option("--top", type=click.IntRange(min=1), help="At most so many labels; alone: without a threshold.")
@click.option("--text-field", default="text", show_default=True, help="Key or column of the text.")
@click.option("--id-field", default="id", show_default=True, help="Key or column of the id.")
@click.option("--skip-bad", is_flag=True, help="Pass over lines that are no document, and count them.")
@click.option("--batch-size", default=32, show_default=True, type=click.IntRange(min=1), help="Documents at once.")
@model_options
def predict(
    model: Path,
    file: str,
    form: str | None,
    output: str,
    out: Path | None,
    threshold: float | str | None,
    top: int | None,
    text_field: str,
    id_field: str,
    skip_bad: bool,
    batch_size: int,
    device: str | None,
    names: tuple[str, ...],
) -> None:
    """Predict the labels of new documents with the run folder MODEL.

    FILE (or - for standard input) holds a document on each line: a text, LibMultiLabel's lines, JSON objects, or rows
    of CSV with a header; --input text takes the whole file as one document. Documents come out in the order they came
    in, in bounded memory, however many there are.
    """
    from plant_plugin.data.label_names import label_names
    from plant_plugin.data.new_documents import Documents, Fields
    from plant_plugin.model.formats import FORMATS
    from plant_plugin.model.predictor import Predictor

    known = label_names(names, model)
    predictor = Predictor.load(model, device=device, names=known, batch_size=batch_size)
    documents = Documents(file, form, fields=Fields(text_field, id_field), skip_bad=skip_bad)
    count = Count()
    with _target(out) as stream:
        FORMATS[output](count.of(predictor, documents, threshold, top, shown=out is not None), stream)
    count.tell(documents)


class Count:
    """What is said when all is done."""

    def __init__(self) -> None:
        self.documents = self.empty = self.cut = 0

    def of(
        self, predictor: Any, documents: Documents, threshold: float | str | None, top: int | None, *, shown: bool
    ) -> Iterator[tuple[Document, Prediction]]:
        """Documents with their predictions, counted; a bar on the terminal where the output goes elsewhere."""
        from itertools import tee

        from tqdm import tqdm

        read, waiting = tee(documents)  # holds what the predictor has read ahead, no more
        predictions = predictor.stream((document.text for document in read), threshold=threshold, top=top)
        bar = tqdm(zip(waiting, predictions, strict=False), unit=" documents", disable=None if shown else True)
        for document, prediction in bar:
            self.documents += 1
            self.empty += prediction.tokens == 0
            self.cut += prediction.cut
            yield document, prediction

    def tell(self, documents: Documents) -> None:
        """On standard error: counts, never content."""
        click.echo(f"{self.documents:,} documents", err=True)
        if self.empty:
            click.echo(f"{self.empty:,} hold nothing that the model reads: their labels mean nothing", err=True)
        if self.cut:
            click.echo(f"{self.cut:,} fill all that the model reads; what stands behind was not read", err=True)
        if skipped := documents.skipped.count:
            lines = ", ".join(map(str, documents.skipped.lines))
            more = ", …" if skipped > len(documents.skipped.lines) else ""
            click.echo(f"{skipped:,} bad lines were passed over: {lines}{more}", err=True)


@contextlib.contextmanager
def _target(out: Path | None) -> Iterator[IO[str]]:
    from plant_plugin.files import atomic_write

    if out is None:
        yield sys.stdout
        return
    with atomic_write(out) as temporary, open(temporary, "w", encoding="utf-8", newline="\n") as stream:
        yield stream
