"""Tags of a Bundle in FHIR: a document of no known word, and what is promised of its labels."""

from __future__ import annotations

from plant_plugin.evaluation.promises import PROMISE
from plant_plugin.model.fhir_extensions import OURS
from plant_plugin.model.known_words import NOTHING_KNOWN
from plant_plugin.model.predictor import Prediction

UNKNOWN = {"system": f"{OURS}:state", "code": "unknown", "display": NOTHING_KNOWN}


def meta_of(prediction: Prediction, promised: str | None) -> dict[str, object]:
    """Return ``meta`` with the tags of a document; empty where there is none.

    Args:
        prediction: Of the document.
        promised: The name of a threshold that promises something, ``promise 0.9``; None: it promises nothing.
    """
    tags = [] if prediction.tokens else [UNKNOWN]
    if promised is not None:
        tags.append({"system": f"{OURS}:promise", "code": promised, "display": _said(promised)})
    return {"meta": {"tag": tags}} if tags else {}


def _said(promised: str) -> str:
    kind, _, share = promised.partition(" ")
    of = "a document's true labels are listed, on average" if kind == PROMISE else "the labels that are listed are true"
    return f"{float(share):.0%} of {of}"
