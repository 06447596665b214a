"""``plant predict``: a trained model on new documents."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click

from plant_plugin.commands.shared import (
    COUNT,
    FILE,
    MODEL,
    load_predictor,
    model_options,
    reads_documents,
    threshold_option,
)
from plant_plugin.files import atomic_write

if TYPE_CHECKING:
    from plant_plugin.data.new_documents import Document, Documents
    from plant_plugin.model.predictor import Prediction, Predictor

OUTPUTS = ("jsonl", "csv", "scores")


@click.command()
@click.argument("model", type=MODEL)
@reads_documents()
@click.option("--output", type=click.Choice(OUTPUTS), default="jsonl", show_default=True,
              help="scores: label:logit, as in predictions.txt.")  # fmt: skip
@click.option("--out", type=FILE, help="Write to this file.")
@threshold_option(help="Labels above it; default: micro, tuned on validation, else 0.5.")
@click.option("--top", type=COUNT, help="At most so many labels; alone: without a threshold.")
@click.option("--batch-size", default=32, show_default=True, type=COUNT, help="Documents at once.")
@model_options
def predict(
    model: Path,
    documents: Documents,
    output: str,
    out: Path | None,
    threshold: float | str | None,
    top: int | None,
    batch_size: int,
    device: str | None,
    names: tuple[str, ...],
) -> None:
    """Predict the labels of new documents with the run folder MODEL.

    FILE (or - for standard input) holds a document on each line: a text, LibMultiLabel's lines, JSON objects, or rows
    of CSV with a header; --input text takes the whole file as one document. Documents come out in the order they came
    in, in bounded memory, however many there are.
    """
    from plant_plugin.model.formats import FORMATS

    predictor = load_predictor(model, device, names, batch_size)
    count = Count()
    with _target(out) as stream:
        FORMATS[output](count.of(predictor, documents, threshold, top, shown=out is not None), stream)
    count.tell(documents)


class Count:
    """What is said when all is done."""

    def __init__(self) -> None:
        self.documents = self.empty = self.cut = 0

    def of(
        self, predictor: Predictor, documents: Documents, threshold: float | str | None, top: int | None, *, shown: bool
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
    if out is None:
        yield sys.stdout
        return
    with atomic_write(out) as temporary, open(temporary, "w", encoding="utf-8", newline="\n") as stream:
        yield stream
