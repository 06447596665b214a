"""Predictions as JSON lines, CSV, or LibMultiLabel's ``label:score`` lines."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable
from typing import IO

from plant_plugin.data.tables import Document
from plant_plugin.model.predictor import Prediction

Pairs = Iterable[tuple[Document, Prediction]]

DIGITS = 6  # of probabilities: more says nothing
HEADERS = {"csv": "id,rank,label,probability,name\n"}


def json_lines(pairs: Pairs, stream: IO[str]) -> None:
    """Write an object a document: ``id``, ``labels`` (``label``, ``probability``, ``name``), ``tokens``, ``cut``."""
    for document, prediction in pairs:
        labels = [
            {"label": label.label, "probability": round(label.probability, DIGITS)}
            | ({"name": label.name} if label.name is not None else {})
            for label in prediction.labels
        ]
        row = {"id": document.name, "labels": labels, "tokens": prediction.tokens, "cut": prediction.cut}
        stream.write(json.dumps(row, ensure_ascii=False) + "\n")


def comma_separated(pairs: Pairs, stream: IO[str]) -> None:
    """Write a row for each predicted label, without the header of :data:`HEADERS`.

    A document without any has one row, of rank 0, so that it is not lost.
    """
    plain, quoting = (
        csv.writer(stream, lineterminator="\n", quoting=how) for how in (csv.QUOTE_MINIMAL, csv.QUOTE_ALL)
    )
    for document, prediction in pairs:
        writer = quoting if "\r" in document.name else plain  # which would end a row where another line end is set
        for rank, label in enumerate(prediction.labels, 1):
            writer.writerow([document.name, rank, label.label, f"{label.probability:.{DIGITS}f}", label.name or ""])
        if not prediction.labels:
            writer.writerow([document.name, 0, "", "", ""])


def label_scores(pairs: Pairs, stream: IO[str]) -> None:
    """Write a line for each document as ``predictions.txt`` has it: ``label:logit`` with four digits, best first."""
    for _, prediction in pairs:
        stream.write(" ".join(f"{label.label}:{label.logit:.4}" for label in prediction.labels) + "\n")


FORMATS: dict[str, Callable[[Pairs, IO[str]], None]] = {
    "jsonl": json_lines,
    "csv": comma_separated,
    "scores": label_scores,
}
