"""The output of ``plant predict``: JSON lines, CSV, LibMultiLabel's ``label:score`` lines, or :mod:`FHIR <.fhir>`."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import IO

from plant_plugin.data.tables import Document
from plant_plugin.evaluation.promises import is_promise
from plant_plugin.model.back_off import backed_off, codes_open
from plant_plugin.model.code_systems import system_of
from plant_plugin.model.fhir import DIGITS, bundles
from plant_plugin.model.group_promises import GroupThresholds
from plant_plugin.model.hints import hinted
from plant_plugin.model.predictor import Prediction, Predictor
from plant_plugin.report.spreadsheets import no_formula

Pairs = Iterable[tuple[Document, Prediction]]
Threshold = float | str | GroupThresholds | None

CSV = "id,rank,label,probability,name"


def json_lines(pairs: Pairs, stream: IO[str]) -> None:
    """Write an object a document: ``id``, ``tokens``, ``cut``, ``labels`` (``label``, ``probability``, ``name``, …)."""
    for document, prediction in pairs:
        labels = [
            {"label": label.label, "probability": round(label.probability, DIGITS)}
            | ({"name": label.name} if label.name is not None else {})
            | ({} if label.seen else {"seen_in_training": False})
            | ({"hints": label.hints} if label.hints else {})
            | ({"open": codes} if (codes := codes_open(label)) else {})
            for label in prediction.labels
        ]
        row = {"id": document.name, "labels": labels, "tokens": prediction.tokens, "cut": prediction.cut}
        stream.write(json.dumps(row, ensure_ascii=False) + "\n")


def header(output: str, rules: bool = False, back_off: bool = False) -> str:
    """Return the line above all documents; only CSV has one."""
    return f"{CSV}{',hints' * rules}{',open' * back_off}\n" if output == "csv" else ""


def comma_separated(
    pairs: Pairs, stream: IO[str], raw_csv: bool = False, rules: bool = False, back_off: bool = False
) -> None:
    """Write a row for each predicted label, without the :func:`header`.

    A document without any has one row, of rank 0, so that it is not lost. No cell is a formula, unless ``raw_csv``.
    """
    cell = str if raw_csv else no_formula
    plain, quoting = (
        csv.writer(stream, lineterminator="\n", quoting=how) for how in (csv.QUOTE_MINIMAL, csv.QUOTE_ALL)
    )
    for document, prediction in pairs:
        writer = quoting if "\r" in document.name else plain  # which would end a row where another line end is set
        for rank, label in enumerate(prediction.labels, 1):
            probability = f"{label.probability:.{DIGITS}f}"
            hints = [" | ".join(hint["text"] for hint in label.hints)] * rules
            codes = [cell(" ".join(codes_open(label)))] * back_off
            name = cell(label.shown)
            writer.writerow([cell(document.name), rank, cell(label.label), probability, name, *hints, *codes])
        if not prediction.labels:
            writer.writerow([cell(document.name), 0, *[""] * (3 + rules + back_off)])


def label_scores(pairs: Pairs, stream: IO[str]) -> None:
    """Write a line for each document as ``predictions.txt`` has it: ``label:logit`` with four digits, best first."""
    for _, prediction in pairs:
        stream.write(" ".join(f"{label.label}:{label.logit:.4}" for label in prediction.labels) + "\n")


FORMATS: dict[str, Callable[[Pairs, IO[str]], None]] = {
    "jsonl": json_lines,
    "csv": comma_separated,
    "scores": label_scores,
}


def written(
    predictor: Predictor,
    documents: list[Document],
    *,
    output: str,
    raw_csv: bool = False,
    rules: bool = False,
    back_off: bool = False,
    system: str | None,
    threshold: Threshold,
    top: int | None,
) -> tuple[str, Counter[str]]:
    """Predict the labels of documents; return what is written of them and what is counted."""
    write = FORMATS.get(output)
    if output == "csv":
        write = partial(comma_separated, raw_csv=raw_csv, rules=rules, back_off=back_off)
    elif write is None:
        name = threshold.promised if isinstance(threshold, GroupThresholds) else str(threshold)
        promised = name if is_promise(name) else None
        write = partial(bundles, predictor=predictor, system=system_of(predictor.labels, system), promised=promised)
    texts = [document.text for document in documents]
    predict, stream = partial(backed_off, predictor) if back_off else predictor.predict, io.StringIO()
    if isinstance(threshold, GroupThresholds):
        predictions = threshold.predicted(predict, documents, top)
    else:
        predictions = predict(texts, threshold=threshold, top=top)
    if rules:
        predictions = [
            replace(prediction, labels=hinted(predictor, text, prediction.labels))
            for text, prediction in zip(texts, predictions, strict=True)
        ]
    write(zip(documents, predictions, strict=True), stream)
    empty = sum(not prediction.tokens for prediction in predictions)
    cut = sum(prediction.cut for prediction in predictions)
    return stream.getvalue(), Counter(documents=len(documents), empty=empty, cut=cut)
