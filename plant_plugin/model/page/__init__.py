"""An explanation as one HTML page that needs no network, runs from a file, and shows markup in a note as text."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

import numpy as np

from plant_plugin.model.explanation import Explanation, LabelEvidence
from plant_plugin.model.passages import Passage

WORDS = 400  # words of a label that carry numbers: the strongest by each measure
PART = re.compile(r"\{\{([a-z-]+)\}\}")


def page(explanations: Sequence[Explanation], title: str = "Why these labels?") -> str:
    """One page for one document.

    Args:
        explanations: Of the same text, by one model, or by two or more to stand side by side.
        title: Of the page.

    Raises:
        ValueError: No explanation, or of different texts.
    """
    if len({explanation.text for explanation in explanations}) != 1:
        raise ValueError("a page shows the explanations of one text")
    folder = files(__package__)
    style, script = (folder.joinpath(name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    models = [_model(explanation) for explanation in explanations]
    data = json.dumps({"text": explanations[0].text, "models": models}, ensure_ascii=False, separators=(",", ":"))
    parts = {
        "title": html.escape(title),
        "style": style,
        "script": script,
        "style-hash": _hash(style),
        "script-hash": _hash(script),
        # inside <script> nothing but "</script" and "<!--" has a meaning, and neither survives without its "<"
        "data": data.replace("<", "\\u003c"),
    }
    template = folder.joinpath("page.html").read_text(encoding="utf-8")
    return PART.sub(lambda found: parts[found[1]], template)  # one pass: what a text holds is never taken for a part


def _hash(content: str) -> str:
    """As a Content-Security-Policy names what may run."""
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()


def _model(explanation: Explanation) -> dict[str, Any]:
    return {
        "name": explanation.model,
        "cut": explanation.cut,
        "tokens": explanation.tokens,
        "words": explanation.words.tolist(),
        "labels": [_label(explanation, evidence) for evidence in explanation.labels],
    }


def _label(explanation: Explanation, evidence: LabelEvidence) -> dict[str, Any]:
    exact = evidence.contribution is not None
    return {
        "label": evidence.found.label,
        "name": evidence.found.name,
        "probability": round(evidence.found.probability, 6),
        "logit": round(evidence.found.logit, 4),
        "predicted": evidence.predicted,
        "exact": exact,
        "bias": round(evidence.bias, 4),
        "elsewhere": round(evidence.elsewhere, 4),
        "planted": round(evidence.planted, 4),
        "words_sum": None if evidence.contribution is None else round(float(evidence.contribution.sum()), 4),
        "terms": [(term, round(value, 4)) for term, value in evidence.terms],
        "words": _words(evidence),
        "passages": [_passage(explanation, passage) for passage in evidence.passages],
        "faithfulness": evidence.faithfulness,
    }


def _words(evidence: LabelEvidence) -> list[tuple[int, float, float | None, float | None]]:
    """Place, attention, contribution and relevance of the words that matter by any of them."""
    measures = [evidence.attention, evidence.contribution, evidence.relevance]
    kept: set[int] = set()
    for values in measures:
        if values is not None:
            kept |= set(np.argsort(-np.abs(values), kind="stable")[:WORDS].tolist())
    columns = [None if values is None else values.round(4).tolist() for values in measures]
    attention, contribution, relevance = columns
    assert attention is not None
    return [
        (
            place,
            attention[place],
            None if contribution is None else contribution[place],
            None if relevance is None else relevance[place],
        )
        for place in sorted(kept)
    ]


def _passage(explanation: Explanation, passage: Passage) -> dict[str, Any]:
    first = int(np.searchsorted(explanation.words[:, 0], passage.start))
    last = int(np.searchsorted(explanation.words[:, 1], passage.end))
    return {
        "start": passage.start,
        "end": passage.end,
        "from": passage.start - len(passage.before),
        "to": passage.end + len(passage.after),
        "first": first,
        "last": last,
        "score": round(passage.score, 4),
    }
