"""The output of ``plant predict``: JSON lines, CSV, LibMultiLabel's ``label:score`` lines, or FHIR R4.

In FHIR a document is a Bundle of Conditions that a machine suggests and nobody has confirmed. The addresses used here
are explained in docs/new_documents.md. No text is written: evidence is its place, in characters. Source: HL7 FHIR R4
(4.0.1), resources Bundle and Condition.
"""

from __future__ import annotations

import csv
import io
import json
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import IO

from plant_plugin.data.tables import Document
from plant_plugin.model.code_systems import as_code, system_of
from plant_plugin.model.passages import Passage
from plant_plugin.model.predictor import Prediction, Predictor
from plant_plugin.model.trained import ScoredLabel
from plant_plugin.report.spreadsheets import no_formula

Pairs = Iterable[tuple[Document, Prediction]]

DIGITS = 6  # of probabilities: more says nothing
HEADERS = {"csv": "id,rank,label,probability,name\n"}

STATUS = "http://terminology.hl7.org/CodeSystem/condition-ver-status"
ABSENT = "http://hl7.org/fhir/StructureDefinition/data-absent-reason"
OURS = "urn:plant-plugin:fhir"  # what FHIR has no element for
SUGGESTION = {"system": f"{OURS}:origin", "code": "machine-suggestion", "display": "Suggested by a machine"}


def json_lines(pairs: Pairs, stream: IO[str]) -> None:
    """Write an object a document: ``id``, ``labels`` (``label``, ``probability``, ``name``), ``tokens``, ``cut``."""
    for document, prediction in pairs:
        labels = [
            {"label": label.label, "probability": round(label.probability, DIGITS)}
            | ({"name": label.name} if label.name is not None else {})
            | ({} if label.seen else {"seen_in_training": False})
            for label in prediction.labels
        ]
        row = {"id": document.name, "labels": labels, "tokens": prediction.tokens, "cut": prediction.cut}
        stream.write(json.dumps(row, ensure_ascii=False) + "\n")


def comma_separated(pairs: Pairs, stream: IO[str], raw_csv: bool = False) -> None:
    """Write a row for each predicted label, without the header of :data:`HEADERS`.

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
            writer.writerow([cell(document.name), rank, cell(label.label), probability, cell(label.shown)])
        if not prediction.labels:
            writer.writerow([cell(document.name), 0, "", "", ""])


def label_scores(pairs: Pairs, stream: IO[str]) -> None:
    """Write a line for each document as ``predictions.txt`` has it: ``label:logit`` with four digits, best first."""
    for _, prediction in pairs:
        stream.write(" ".join(f"{label.label}:{label.logit:.4}" for label in prediction.labels) + "\n")


FORMATS: dict[str, Callable[[Pairs, IO[str]], None]] = {
    "jsonl": json_lines,
    "csv": comma_separated,
    "scores": label_scores,
}


def bundles(pairs: Pairs, stream: IO[str], predictor: Predictor, system: str) -> None:
    """Write a line for each document: a Bundle of the type ``collection``, without entries where it has no labels."""
    for document, prediction in pairs:
        labels, evidence = prediction.labels, dict[str, list[Passage]]()
        if labels:
            explained = predictor.explain(document.text, [label.label for label in labels])
            evidence = {label.scored.label: label.passages for label in explained.labels}
        bundle: dict[str, object] = {"resourceType": "Bundle", "type": "collection"}
        if document.name:
            bundle["identifier"] = {"system": f"{OURS}:document", "value": document.name}
        if labels:  # an empty list is no FHIR
            bundle["entry"] = [
                {"fullUrl": f"urn:uuid:{uuid.uuid4()}", "resource": _condition(label, evidence[label.label], system)}
                for label in labels
            ]
        stream.write(json.dumps(bundle, ensure_ascii=False) + "\n")


def _condition(label: ScoredLabel, passages: Sequence[Passage], system: str) -> dict[str, object]:
    code = {"system": system, "code": as_code(label.label, system)}
    named = {} if label.name is None else {"display": label.name}
    return {
        "resourceType": "Condition",
        "meta": {"tag": [SUGGESTION]},
        "extension": [
            {"url": f"{OURS}:probability", "valueDecimal": round(label.probability, DIGITS)},
            *(_evidence(passage) for passage in passages),
        ],
        "verificationStatus": {"coding": [{"system": STATUS, "code": "unconfirmed"}]},
        "code": {"coding": [code | named]},
        "subject": {"extension": [{"url": ABSENT, "valueCode": "unknown"}]},
    }


def _evidence(passage: Passage) -> dict[str, object]:
    parts = [
        {"url": "start", "valueInteger": passage.start},
        {"url": "end", "valueInteger": passage.end},
        {"url": "score", "valueDecimal": round(float(passage.score), DIGITS)},
    ]
    return {"url": f"{OURS}:evidence", "extension": parts}


def written(
    predictor: Predictor,
    documents: list[Document],
    *,
    output: str,
    raw_csv: bool = False,
    system: str | None,
    threshold: float | str | None,
    top: int | None,
) -> tuple[str, Counter[str]]:
    """Predict the labels of documents; return what is written of them and what is counted."""
    write = partial(comma_separated, raw_csv=raw_csv) if output == "csv" else FORMATS.get(output)
    if write is None:
        write = partial(bundles, predictor=predictor, system=system_of(predictor.labels, system))
    texts = [document.text for document in documents]
    predictions, stream = predictor.predict(texts, threshold=threshold, top=top), io.StringIO()
    write(zip(documents, predictions, strict=True), stream)
    empty = sum(not prediction.tokens for prediction in predictions)
    cut = sum(prediction.cut for prediction in predictions)
    return stream.getvalue(), Counter(documents=len(documents), empty=empty, cut=cut)
